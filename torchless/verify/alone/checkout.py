"""Imports Python modules of a checkout without what they need of a machine; used by call_ops.py."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any


class Refused(Exception):
    """An argument that the target's conversion refuses."""


class Checkout(importlib.abc.MetaPathFinder):
    """Finds the modules of ``package`` in the checkout ``root``, some of them with other ``texts``.

    Packages are empty here: their __init__ would import everything and ask for a GPU. A module that cannot be imported,
    and a package that is not installed, become blanks when a module of the checkout asks for them.
    """

    def __init__(self, root: str, texts: dict[str, str], package: str) -> None:
        """Stand in front of every other finder, and behind them all for what they lack."""
        self.root = Path(root)
        self.texts = texts
        self.package = package
        self.files: set[str] = set()  # root-relative, of what was imported
        self.wanted: set[str] = set()  # what must not become a blank
        sys.meta_path.insert(0, self)
        sys.meta_path.append(Blanks(package))

    def load(self, name: str) -> Any:
        """The module ``name``. Raises what its import raises."""
        self.wanted.add(name)
        return importlib.import_module(name)

    def has(self, name: str) -> bool:
        """Whether the checkout has a file for the module ``name``."""
        return name in sys.modules or self._file(name) is not None

    def stand_in(self, name: str, **attributes: Any) -> None:
        """Put a module of our own in the place of ``name``; what it lacks is blank."""
        module = BlankModule(name)
        vars(module).update(attributes)
        sys.modules[name] = module

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module of the checkout, None for anything else."""
        if fullname != self.package and not fullname.startswith(self.package + "."):
            return None
        file = self._file(fullname)
        if file is not None:
            loader = SourceLoader(self, fullname, *file)
            return importlib.util.spec_from_loader(fullname, loader, origin=file[0])
        folder = self.root / fullname.replace(".", "/")
        loader_of_none = PackageLoader(self)
        spec = importlib.machinery.ModuleSpec(fullname, loader_of_none, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        return spec

    def _file(self, name: str) -> tuple[str, Path] | None:
        relative = name.replace(".", "/") + ".py"
        if relative in self.texts:
            return relative, Path(self.texts[relative])
        path = self.root / relative
        return (relative, path) if path.is_file() else None


class SourceLoader(importlib.abc.Loader):
    """Runs a file of the checkout; one that fails and that nobody asked for by name is a blank."""

    def __init__(self, checkout: Checkout, name: str, relative: str, path: Path) -> None:
        """``path`` holds the text of ``relative``."""
        self.checkout = checkout
        self.name = name
        self.relative = relative
        self.path = path

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """An empty module."""
        return BlankModule(self.name) if self.name not in self.checkout.wanted else ModuleType(self.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run the file in ``module``."""
        self.checkout.files.add(self.relative)
        module.__file__ = str(self.checkout.root / self.relative)  # some look for files beside their own
        code = compile(self.path.read_bytes(), module.__file__, "exec", dont_inherit=True)
        try:
            exec(code, vars(module))
        except Exception:
            if self.name in self.checkout.wanted:
                raise


class PackageLoader(importlib.abc.Loader):
    """A package without its __init__."""

    def __init__(self, checkout: Checkout) -> None:
        """Of ``checkout``."""
        self.checkout = checkout

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """A module whose attributes are its submodules, and blank where it has none of that name."""
        return BlankModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run."""


class BlankModule(ModuleType):
    """A module that has every attribute: a submodule of the checkout, or a blank."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        finder = next((f for f in sys.meta_path if isinstance(f, Checkout)), None)
        if finder is not None:
            nested = [f"{self.__name__}.{name}"]
            if self.__name__ == finder.package and name == "dtypes":
                nested.append(f"{finder.package}.utility.dtypes")
            for candidate in nested:
                if finder.has(candidate):
                    return importlib.import_module(candidate)
        return blank(name)


class Blanks(importlib.abc.MetaPathFinder):
    """Finds, last of all, what is not installed, when the checkout asks for it."""

    def __init__(self, package: str) -> None:
        """``package`` is the checkout's."""
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A blank for modules of the checkout, None for whoever else asks."""
        asked = next((f for f in _callers() if not f.startswith("importlib") and f != __name__), "")
        if asked.split(".")[0] != self.package and not isinstance(sys.modules.get(fullname.split(".")[0]), BlankModule):
            return None
        return importlib.machinery.ModuleSpec(fullname, _BlankLoader(), is_package=True)


class _BlankLoader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return BlankModule(spec.name)

    def exec_module(self, module: ModuleType) -> None: ...


def _callers() -> Iterator[str]:
    frame = sys._getframe(1)
    while frame is not None:
        yield str(frame.f_globals.get("__name__", ""))
        if frame.f_back is None:
            return
        frame = frame.f_back


class Blank:
    """Something that can be called, looked into and used as a decorator, and does nothing."""

    def __init__(self, name: str, **attributes: Any) -> None:
        """``name`` is for people."""
        self._name = name
        vars(self).update(attributes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Blank(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What it was given, where that is a function: decorators leave it as it is."""
        if len(args) == 1 and not kwargs and callable(args[0]) and not isinstance(args[0], Blank):
            return args[0]
        return Blank(self._name)

    def __getitem__(self, key: object) -> Blank:
        return Blank(self._name)

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __or__(self, other: object) -> Blank:
        return self

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return ()


def blank(name: str, **attributes: Any) -> Any:
    """A Blank with some attributes."""
    return Blank(name, **attributes)
