"""What `runworker` starts. One duty, one file.

    worker ──┬── runner ── slots (threads): exchange → run the batch → exchange …
             │             waiter: of the idle slots one asks the store to be woken, the others wait for it
             │             watch: hands back what waits behind a slow task, cancels what has lost its lease
             ├── heart: renews the leases of everything the slots hold, by the names of the slots
             ├── promoter, reclaimer, sweeper: maintenance of the queues; safe to run in every worker at once
             └── announcer: says every few seconds that the worker lives and what it does

The store decides who runs a task; what is held here is a copy of its answers, and an old one. A slot starts a task only
while its lease surely stands, and settles it under the token of its claim; the store refuses a token that was replaced.

A store that does not answer stops nothing: a slot keeps its outcomes and repeats the same exchange, a duty repeats its
step, both more and more slowly up to a cap. A duty that dies of something else is started again a few times; after that
it takes the worker down, so that whoever started the worker sees it. None is ever silently gone.
"""
