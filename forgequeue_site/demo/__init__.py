"""The demo: engine, web site, worker and a stream of sample tasks, started and stopped as one.

`run` starts them and owns the signals; `children` are its processes, `warden` the one that ends the others should the
demo itself be killed; `stream` makes the tasks, `progress` tells the terminal what becomes of them.
"""
