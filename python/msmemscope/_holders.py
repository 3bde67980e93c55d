# SPDX-License-Identifier: Apache-2.0
"""Finds the Python objects that hold a block of memory: the path of references from a variable, an attribute, a class or a
running function to the tensor.

The search follows references backwards from the tensor with the garbage collector's help. Each step scans all objects, so it
is done on request, not for every event. It keeps no references to objects that it finds, and changes none.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from contextlib import contextmanager
from types import (AsyncGeneratorType, CellType, CodeType, CoroutineType, FrameType, FunctionType, GeneratorType, MappingProxyType,
                   MethodType, ModuleType)
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from typing_extensions import TypeGuard

    T = TypeVar("T")

_STEPS = 12  # longest path
_PATHS = 100  # most references followed from one object
_NODES = 100000  # most nodes of autograd graphs that are visited
_OWN = os.path.dirname(__file__) + os.sep  # files of this package
_OPTIMIZED = 1  # flag of code whose local variables are not in a dictionary


class Holder(NamedTuple):
    """An object that holds a block."""

    name: str  # "__main__.losses[3]", "loss in train()"
    type: str  # of the object that holds it: list in the first example
    where: str  # where that object was created, the variable assigned, or the class defined; empty: unknown
    held: str  # what it holds that keeps the block: "Tensor", "graph whose MulBackward0 keeps the block"
    cycle: bool  # held only by a reference cycle, not by a variable: gc.collect() may free it

    def __str__(self) -> str:
        text = f"{self.name} ({self.type})" + (f", {self.where}" if self.where else "")
        if self.cycle:
            text += ", a cycle that only the garbage collector can free"
        return text + (f", holds a {self.held}" if self.held else "")


def holders(what: object, limit: int = 10) -> list[Holder]:
    """Python objects that hold a tensor, or the block at an address; the nearest ones first.

    Empty if no Python object holds the block; C code may still hold it.
    """
    with _collector_off():
        return _Search({0: _targets(what)}, limit).found()[0]


def holders_of(addresses: list[int], limit: int = 1) -> dict[int, list[Holder]]:
    """holders() for many addresses at once."""
    with _collector_off():
        return _Search(blocks(addresses), limit).found()


@contextmanager
def _collector_off() -> Iterator[None]:
    """Disables automatic collection, so that objects do not disappear during the search."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _is(thing: object, kinds: type[T] | tuple[type[T], ...]) -> TypeGuard[T]:
    """Like isinstance, but does not call into the object, which could return anything or raise."""
    return issubclass(type(thing), kinds)


def _of_class(kind: type, name: str) -> Any:
    """An attribute that every class has, read without calling its metaclass."""
    return type.__getattribute__(kind, name)


def _attributes(thing: object) -> Any:
    """The dictionary of an object's attributes; empty if it has none or does not return it."""
    try:
        found = getattr(thing, "__dict__", {})
    except Exception:
        return {}
    return found if type(found) in (dict, MappingProxyType) else {}


# ---- tensors and their memory ----


def is_tensor(thing: object) -> bool:
    try:
        return callable(getattr(type(thing), "data_ptr", None))
    except Exception:
        return False  # a metaclass that raises


def memory_of(tensor: Any) -> tuple[int, int]:
    """Address and size of a tensor's storage; 0 if it has none."""
    for storage in ("untyped_storage", "_storage", "storage"):
        if callable(getattr(type(tensor), storage, None)):
            try:
                kept = getattr(tensor, storage)()
                return int(kept.data_ptr()), int(kept.nbytes())
            except Exception:
                continue
    try:
        return int(tensor.data_ptr()), int(getattr(tensor, "nbytes", 1) or 1)
    except Exception:
        return 0, 0  # a tensor without memory


def _targets(what: object) -> list[tuple[object, str]]:
    """Objects that keep the block, each with a description of how."""
    if not _is(what, int) and not is_tensor(what):
        return [(what, "")]
    address = what if _is(what, int) else memory_of(what)[0]
    if address == 0:
        return [(what, _type_name(what))] if not _is(what, int) else []
    return blocks([address])[address]


def blocks(addresses: list[int]) -> dict[int, list[tuple[object, str]]]:
    """_targets() for many addresses at once."""
    from bisect import bisect_right

    found: dict[int, list[tuple[object, str]]] = {address: [] for address in addresses}
    ordered = sorted(found)
    things = gc.get_objects()
    graphs: list[Any] = []

    def note(tensor: Any, holder: object, held: str) -> None:
        begin, size = memory_of(tensor)
        at = bisect_right(ordered, begin + max(size, 1) - 1)
        while begin and at > 0 and ordered[at - 1] >= begin:
            at -= 1
            found[ordered[at]].append((holder, held))
    for thing in things:
        if is_tensor(thing) and not _is(thing, type):
            note(thing, thing, _type_name(thing))
            if _graph(thing) is not None:
                graphs.append(thing)
    before = {id(thing) for thing in things}
    del things
    budget = _NODES
    for tensor in _referred(graphs, before):
        seen: dict[int, object] = {}
        for saved, node in _saved(tensor.grad_fn, seen, budget):
            note(saved, tensor, f"graph whose {node} keeps the block")
        budget -= len(seen)
    return found


def _graph(tensor: Any) -> Any:
    try:
        return getattr(tensor, "grad_fn", None)
    except Exception:
        return None


def _referred(tensors: list[Any], before: set[int]) -> list[Any]:
    """The tensors that a Python object refers to: PyTorch also keeps the Python objects of tensors that only C++ needs."""
    numbers = {id(tensor) for tensor in tensors}
    held = {number for variables in _running().values() for number in variables if number in numbers}
    for referrer in gc.get_referrers(*tensors) if tensors else ():
        if id(referrer) in before and referrer is not tensors:
            held |= {id(referent) for referent in gc.get_referents(referrer)} & numbers
    return [tensor for tensor in tensors if id(tensor) in held]


def _saved(node: Any, seen: dict[int, object], most: int) -> Iterator[tuple[Any, str]]:
    """Tensors that an autograd graph saves for its backward pass; they are held by C++, not by a Python object."""
    waiting = [node]
    while waiting and len(seen) < most:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen[id(node)] = node  # keeps it alive, so that its id is not reused
        for name in dir(type(node)):
            if name.startswith("_saved_"):
                try:
                    value = getattr(node, name)
                except Exception:
                    continue  # freed by the backward pass
                for saved in value if _is(value, (tuple, list)) else (value,):
                    if is_tensor(saved):
                        yield saved, type(node).__name__
        waiting += [after for after, _ in getattr(node, "next_functions", ())]


# ---- the search ----


class _Search:
    """Follows references backwards from all targets at once, until each path reaches something that has a name."""

    def __init__(self, blocks: dict[int, list[tuple[object, str]]], limit: int) -> None:
        self.limit = limit  # per block
        self.result: dict[int, list[Holder]] = {block: [] for block in blocks}
        self.held: dict[int, list[tuple[int, str]]] = {}  # id of a target: the blocks that it holds, and how
        self.targets = [target for targets in blocks.values() for target, _ in targets]
        for block, targets in blocks.items():
            for target, held in targets:
                self.held.setdefault(id(target), []).append((block, held))
        self.next: dict[int, list[tuple[object, str]]] = {}  # id of an object: what it refers to on the path, and how
        self.seen: dict[int, object] = {}  # visited objects, kept alive so that ids are not reused
        self.cyclic = False
        self.before: set[int] = set()  # ids of objects that existed before the search: its own containers do not count

    def found(self) -> dict[int, list[Holder]]:
        self.before = {id(thing) for thing in gc.get_objects()}
        self.before -= {id(self), id(self.__dict__), id(self.targets), id(self.next), id(self.seen), id(self.held)}
        try:
            self._search()
            if self.cyclic:
                self._cycles()
            return self.result
        finally:
            self.targets, self.next, self.seen, self.before = [], {}, {}, set()

    def _search(self) -> None:
        level = {id(target): target for target in self.targets}
        self.seen.update(level)
        frames = _running()
        for _ in range(_STEPS):
            for frame, variables in frames.items():
                for number in variables.keys() & level.keys():
                    self._add(variables[number], level[number], f"running at {_place(frame.f_code, frame.f_lineno)}",
                              scope=f" in {_code_name(frame.f_code)}()")
            upper: dict[int, object] = {}
            for referrer in gc.get_referrers(*level.values()) if not self._enough() else ():
                if id(referrer) in self.before and not (_is(referrer, FrameType) and referrer in frames):
                    self._refers(referrer, level, upper)
            self.seen.update(upper)
            level = upper
            if not level:
                break

    def _refers(self, referrer: object, level: dict[int, object], upper: dict[int, object]) -> None:
        root = _root_name(referrer)
        for referent in gc.get_referents(referrer):
            if id(referent) not in level:
                continue
            edge = _edge(referrer, referent)
            self.before.add(id(_attributes(referrer)))  # 3.11 and 3.12 create it on access
            if root is not None:
                self._add(root + edge, referent, _where_in(referrer, edge), referrer)
            elif id(referrer) in self.seen:
                self.cyclic = True
            else:
                known = self.next.setdefault(id(referrer), [])
                if len(known) < _PATHS and not any(each[0] is referent for each in known[-1:]):
                    known.append((referent, edge))
                upper[id(referrer)] = referrer

    def _enough(self) -> bool:
        return all(len(found) >= self.limit for found in self.result.values())

    def _add(self, name: str, first: object, where: str, root: object = None, scope: str = "") -> None:
        """A named object refers to `first`: adds a holder for each target that `first` leads to."""
        top = root if _is(root, type) else _container(first)
        for path, target, last in self._down(first):
            holder = top if last is None or last is first else _container(last)
            place = _created(holder) or where or _written(holder) or _written(top)
            self._hold(target, _tidy(name + path) + scope, holder, place, False)

    def _hold(self, target: object, name: str, holder: object, where: str, cycle: bool) -> None:
        for block, held in self.held[id(target)]:
            found = Holder(name, _type_name(holder), where, held, cycle)
            if len(self.result[block]) < self.limit and found not in self.result[block]:
                self.result[block].append(found)

    def _down(self, thing: object, above: object = None, depth: int = 0) -> Iterator[tuple[str, object, object]]:
        """Paths down to targets: (text of the path, target, the object that refers to it; None: the path is empty)."""
        if id(thing) in self.held:
            yield "", thing, above
        for after, edge in self.next.get(id(thing), ()) if depth < _STEPS else ():
            for path, target, last in self._down(after, thing, depth + 1):
                yield edge + path, target, last

    def _cycles(self) -> None:
        """Adds holders of blocks that no variable leads to, only objects that refer to each other."""
        empty = {block for block, found in self.result.items() if not found}
        for thing in list(self.seen.values()) if empty else ():
            for path, target, _ in self._down(thing):
                if path and type(thing) not in (dict, CellType) and any(block in empty for block, _ in self.held[id(target)]):
                    self._hold(target, _tidy(f"<{_type_name(thing)}>" + path), thing, _created(thing) or _written(thing), True)


# ---- frames ----


def _running() -> dict[FrameType, dict[int, str]]:
    """Running functions of all threads, except those of this package: ids of objects and the variables that refer to them."""
    found: dict[FrameType, dict[int, str]] = {}
    for frame in list(sys._current_frames().values()):
        upper: FrameType | None = frame
        while upper is not None:
            if not upper.f_code.co_filename.startswith(_OWN):
                found[upper] = {id(value): name for name, value in reversed(_variables(upper))}
            upper = upper.f_back
        del frame  # may be this function's own frame, which would refer to itself
    return found


def _variables(frame: FrameType) -> list[tuple[str, object]]:
    """Local variables of a function. Up to 3.12, f_locals creates a dictionary that lives as long as the frame and would hold the
    values; it is cleared again, unless other code refers to it. Bodies of modules and classes have a dictionary that the
    search finds by itself."""
    if not frame.f_code.co_flags & _OPTIMIZED:
        return []
    variables = frame.f_locals
    items = list(variables.items())
    if sys.version_info < (3, 13) and sys.getrefcount(variables) <= 3:
        variables.clear()
    return items


def _variable(frame: FrameType | None, thing: object) -> str:
    """The variable of a suspended function that refers to an object."""
    names = [name for name, value in _variables(frame) if value is thing] if frame is not None else []
    return f".{names[0]}" if names else ".<local>"


# ---- names ----


def _type_name(thing: object) -> str:
    return _class_name(type(thing), ("builtins", "__main__", "torch"))


def _class_name(kind: type, plain: tuple[object, ...] = ()) -> str:
    module, name = _of_class(kind, "__module__"), _of_class(kind, "__qualname__")
    return name if module in plain else f"{module}.{name}"


def _container(thing: object) -> object:
    """The object to which an attribute dictionary belongs; other objects are returned as they are."""
    if type(thing) is dict:
        for referrer in gc.get_referrers(thing):
            if not _is(referrer, FrameType) and _attributes(referrer) is thing:
                return referrer
    return thing


def _root_name(thing: object) -> str | None:
    """The name of a module or class; None for anything else."""
    if _is(thing, ModuleType):
        return thing.__name__
    if _is(thing, type):
        return _class_name(thing)
    if type(thing) is dict and _is(thing.get("__name__"), str):
        module = sys.modules.get(thing["__name__"])
        if module is not None and _attributes(module) is thing:
            return module.__name__
    return None


def _edge(referrer: object, referent: object) -> str:
    """How one object refers to the other, as an expression."""
    for kinds, describe in _EDGES:
        if _is(referrer, kinds):
            return describe(referrer, referent)
    for name, value in list(_attributes(referrer).items()):
        if value is referent:
            return f".{name}"
    for kind in _of_class(type(referrer), "__mro__"):
        for name in _slots(kind):
            try:
                if getattr(referrer, name) is referent:
                    return f".{name}"
            except Exception:
                continue
    if type(referent) is dict and _attributes(referrer) is referent:
        return ".__dict__"
    return f".<{_type_name(referrer)}>"


def _slots(kind: type) -> list[str]:
    slots = _of_class(kind, "__dict__").get("__slots__", ())
    return [slots] if _is(slots, str) else list(slots)


def _of_dict(referrer: Any, referent: object) -> str:
    for key, value in list(dict.items(referrer)):
        if value is referent:
            return f"[{key!r}]" if type(key) in (str, int, float, bool, bytes) else f"[<{_type_name(key)}>]"
    return ".keys()"


def _of_sequence(kind: type) -> Callable[[Any, object], str]:
    def describe(referrer: Any, referent: object) -> str:
        for index, value in enumerate(list(kind.__iter__(referrer))):  # type: ignore[attr-defined]
            if value is referent:
                return f"[{index}]"
        return "[?]"
    return describe


def _of_function(referrer: Any, referent: object) -> str:
    closure = referrer.__closure__ or ()
    if closure is referent or any(cell is referent for cell in closure):
        names = referrer.__code__.co_freevars
        return f".{_code_name(referrer.__code__)}.__closure__" if closure is referent else \
            f"<{_code_name(referrer.__code__)}>.{names[[cell is referent for cell in closure].index(True)]}"
    if referrer.__defaults__ is referent:
        return ".__defaults__"
    return "." + ("__dict__" if _attributes(referrer) is referent else "<function>")


def _of_generator(referrer: Any, referent: object) -> str:
    frame = next(getattr(referrer, name) for name in ("gi_frame", "cr_frame", "ag_frame") if hasattr(referrer, name))
    return "" if _is(referent, FrameType) else _variable(frame, referent)


_EDGES: tuple[tuple[tuple[type, ...], Callable[[Any, object], str]], ...] = (
    ((dict,), _of_dict),
    ((list,), _of_sequence(list)),
    ((tuple,), _of_sequence(tuple)),
    ((deque,), _of_sequence(deque)),
    ((set, frozenset), lambda referrer, referent: "{...}"),
    ((CellType,), lambda referrer, referent: ""),
    ((MethodType,), lambda referrer, referent: ".__self__" if referrer.__self__ is referent else ".__func__"),
    ((FunctionType,), _of_function),
    ((GeneratorType, CoroutineType, AsyncGeneratorType), _of_generator),
    ((FrameType,), _variable),
    ((type,), lambda referrer, referent: ".__dict__" if type(referent) is dict else ".<type>"),
)


def _tidy(name: str) -> str:
    """Writes attributes as such, not as items of the attribute dictionary."""
    import re

    name = re.sub(r"\.__dict__\['(\w+)'\]", r".\1", name)
    head = re.match(r"[\w.<>]+?(?=\['(\w+)'\])", name)
    if head is not None and head[0] in sys.modules:
        name = re.sub(r"\['(\w+)'\]", r".\1", name, count=1)
    return name


# ---- locations ----


def _code_name(code: CodeType) -> str:
    return getattr(code, "co_qualname", code.co_name)


def _place(code: CodeType, line: int | None = None) -> str:
    return f"{code.co_filename}:{line or code.co_firstlineno}"


def _created(thing: object) -> str:
    """Where an object was created, if tracemalloc is active (python -X tracemalloc)."""
    import tracemalloc

    trace = tracemalloc.get_object_traceback(thing) if tracemalloc.is_tracing() else None
    return f"created at {trace[-1].filename}:{trace[-1].lineno}" if trace else ""


def _written(thing: object) -> str:
    """Where the function or class of an object is defined."""
    if _is(thing, MethodType):
        thing = thing.__func__
    if _is(thing, FunctionType):
        return f"function at {_place(thing.__code__)}"
    if _is(thing, GeneratorType):
        return f"generator at {_place(thing.gi_code)}"
    kind = thing if _is(thing, type) else type(thing)
    lines = [_place(value.__code__) for value in _of_class(kind, "__dict__").values() if _is(value, FunctionType)]
    return f"class at {lines[0]}" if lines else ""


def _where_in(root: object, edge: str) -> str:
    """The first line that assigns a module variable."""
    import re

    name = re.match(r"(?:\['|\.)(\w+)", edge)
    space = root if type(root) is dict else _attributes(root)
    path = None
    if not _is(root, type):  # at exit, __main__ has no __file__ any more
        path = space.get("__file__") or getattr(space.get("__loader__"), "path", None)
    if name is None or not _is(path, str) or not path.endswith(".py"):
        return ""
    import ast

    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return ""
    lines = [node.lineno for node in ast.walk(tree)
             if _is(node, ast.Name) and _is(node.ctx, ast.Store) and node.id == name[1]]
    return f"assigned at {path}:{min(lines)}" if lines else ""


# ---- report ----

_suspects: dict[int, int] = {}  # blocks that outlived their step at the last stop(), not reported yet: address and bytes


def _amount(sizes: list[int]) -> str:
    return f"{sum(sizes) / 2 ** 20:f} Mb(s) in {len(sizes)} allocation(s)"


def note(suspects: str) -> None:
    """Stores blocks that outlived their step, as the recorder reports them: lines of address, bytes, device and step."""
    global _suspects
    lines = [line.split() for line in suspects.splitlines()]
    _suspects = {int(line[0], 16): int(line[1]) for line in lines if len(line) == 4}


def remember(suspects: str) -> None:
    """note() at stop(). Searching for holders takes longer than stop() may take, so it is done on request or at the end of the
    program."""
    from ._recorder import say

    note(suspects)
    if _suspects:
        say("Info", f"{_amount(list(_suspects.values()))} outlived their step; their holders are printed when the program "
                    "ends, or now by msmemscope.tell_holders().")


def tell_holders() -> None:
    """Prints the Python objects that hold memory that had outlived its step when stop() was called."""
    global _suspects
    suspects, _suspects = _suspects, {}
    _print_holders(suspects, "no Python object")


def at_exit() -> None:
    """Prints holders at exit. Blocks without a holder may be freed by now, so they are not reported."""
    _print_holders(_suspects, "")


def _print_holders(suspects: dict[int, int], unheld: str) -> None:
    import re

    from ._recorder import put, say

    groups: dict[Holder | None, list[tuple[int, str]]] = {}  # equal except for indices
    for address, found in holders_of(list(suspects)).items() if suspects else ():
        kind = found[0]._replace(name=re.sub(r"\[\d+\]", "[...]", found[0].name)) if found else None
        if found or unheld:
            groups.setdefault(kind, []).append((suspects[address], found[0].name if found else ""))
    if groups:
        say("Info", "Memory that outlived its step, and its holders:")
    for kind, held in sorted(groups.items(), key=lambda group: -sum(size for size, _ in group[1])):
        text = kind._replace(name=_common([name for _, name in held])) if kind is not None else unheld
        put(f"    {_amount([size for size, _ in held])}: {text}", sys.stdout)


def _common(names: list[str]) -> str:
    """One name for several that differ only in indices."""
    import re

    parts = zip(*(re.split(r"(?<=\[)(\d+)(?=\])", name) for name in names))
    return "".join(part[0] if len(set(part)) == 1 else "..." for part in parts)
