"""Whether arguments fit a function, found out at the enqueue and not by the worker."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Binding:
    """A function's signature, without the context that the worker adds."""

    __slots__ = ("_least", "_most", "_name", "_signature")

    def __init__(self, function: Callable[..., Any], *, takes_context: bool) -> None:
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())[1 if takes_context else 0 :]
        self._name = getattr(function, "__name__", type(function).__name__)
        self._signature = signature.replace(parameters=parameters)
        self._least, self._most = _counts(parameters)

    def check(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Raises TypeError, as the call would."""
        # The usual case by counting, since `bind` takes several microseconds.
        if kwargs or not self._least <= len(args) <= self._most:
            self.named(args, kwargs)

    def named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by the names of the parameters, defaults left out. Raises TypeError, as the call would."""
        try:
            return self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{self._name}() {error}") from None


def _counts(parameters: list[inspect.Parameter]) -> tuple[int, float]:
    """The least and most arguments that fit by count alone, when none is given by name."""
    positional = [each for each in parameters if each.kind in _POSITIONAL]
    kinds = {each.kind for each in parameters}
    needs_names = any(
        each.kind is inspect.Parameter.KEYWORD_ONLY and each.default is inspect.Parameter.empty for each in parameters
    )
    if needs_names:
        return 1, 0
    least = sum(each.default is inspect.Parameter.empty for each in positional)
    return least, float("inf") if inspect.Parameter.VAR_POSITIONAL in kinds else len(positional)
