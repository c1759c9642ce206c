"""What every answer of the site goes through."""

from collections.abc import Callable

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware

POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)


def content_security_policy(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Only our own scripts, styles and connections. Django's debug pages have theirs inline and stay as they are."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if not (settings.DEBUG and response.status_code in {404, 500}):
            response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    return respond


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise has no types
    """WhiteNoise, with whole files under ASGI: Django warns of each file that is streamed there by a plain iterator."""

    @staticmethod
    def serve(static_file: object, request: HttpRequest) -> FileResponse | HttpResponse:
        """The file, or what a conditional request gets instead."""
        streamed: FileResponse = WhiteNoiseMiddleware.serve(static_file, request)
        if not isinstance(request, ASGIRequest):
            return streamed
        whole = HttpResponse(streamed.getvalue(), status=streamed.status_code)
        streamed.close()
        whole.headers = streamed.headers
        return whole
