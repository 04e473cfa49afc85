# SPDX-License-Identifier: Apache-2.0
import headroom as hr


@hr.experiment(axes={"n": [1000, 100000]}, backends=["join", "add"])
def text(state):
    """a text of n numbers"""
    numbers = range(state["n"])

    def add():
        made = ""
        for number in numbers:
            made += str(number)
        return made

    run = add if state.backend == "add" else lambda: "".join(map(str, numbers))
    state.verify(lambda: [len(run())], reference=[len(add())])
    state.rate("numbers", len(numbers), "numbers/s")
    state.measure(run)


hr.main()
