# SPDX-License-Identifier: Apache-2.0
import headroom as hr


@hr.experiment(axes={"n": [1000, 100000]}, backends=["join", "add"])
def text(state):
    """a text of n numbers"""
    n = state["n"]

    def join():
        return "".join([str(i) for i in range(n)])

    def add():
        made = ""
        for i in range(n):
            made += str(i)
        return made

    run = join if state.backend == "join" else add
    state.verify(lambda: [len(run())], reference=lambda: [len(join())])
    state.rate("numbers", n, "numbers/s")
    state.measure(run)


hr.main()
