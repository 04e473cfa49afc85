# SPDX-License-Identifier: Apache-2.0
"""A fake torch.cuda: a launch takes a microsecond of its clock, and graphs replay captured launches."""
import contextlib
import types


class FakeCuda:
    def __init__(self, free_memory=1 << 40):
        self.launched = []  # all that ran, in order
        self.timed = []  # (first, last) index in it between two events
        self._capturing = None
        self._free_memory = free_memory
        cuda = self

        class Graph:
            def replay(self):
                cuda.launched += self.launches

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                self.place = len(cuda.launched)

            def synchronize(self):
                pass

            def elapsed_time(self, stop):
                cuda.timed.append((self.place, stop.place))
                return (stop.place - self.place) * 1e-3  # ms

        self.CUDAGraph, self.Event = Graph, Event
        self.Stream = lambda: types.SimpleNamespace(wait_stream=lambda other: None)
        self.stream = contextlib.nullcontext

    def launch(self, what):
        (self.launched if self._capturing is None else self._capturing).append(what)

    @contextlib.contextmanager
    def graph(self, graph, pool, stream, capture_error_mode):
        assert pool and stream and capture_error_mode == "thread_local" and self._capturing is None
        self._capturing = []
        yield
        graph.launches, self._capturing = self._capturing, None

    def mem_get_info(self):
        return self._free_memory, self._free_memory

    @staticmethod
    def get_device_properties(_):
        return types.SimpleNamespace(L2_cache_size=1 << 20, name="a GPU of the test")

    is_available = is_initialized = staticmethod(lambda: True)
    graph_pool_handle = current_stream = staticmethod(object)
    memory_reserved = memory_allocated = staticmethod(lambda: 0)
    empty_cache = synchronize = staticmethod(lambda: None)
    _sleep = staticmethod(lambda cycles: None)
