"""`torchless check --certify`: is a module free of torch, and who says so?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torchless.closure.build import Closures
from torchless.closure.heavy import load_heavy
from torchless.errors import UsageError
from torchless.facts.pool import default_jobs
from torchless.index import open_index
from torchless.options import CheckOptions
from torchless.project.discover import ProjectError, load, locate
from torchless.selection import SelectionError, select
from torchless.verify.certificate import Certificate, certify
from torchless.verify.compilers import find_compiler


def certify_modules(names: Sequence[str], options: CheckOptions, start: Path) -> list[Certificate]:
    """The certificates of the modules ``names``, in their order. Raises UsageError."""
    try:
        index = open_index(locate(start, options.paths), options.cache)
        project = load(start, options.paths, index)
        select(project, start, (), names)  # says which name is none, and what is near
    except (ProjectError, SelectionError) as error:
        raise UsageError(str(error)) from None
    heavy = load_heavy(options.heavy)
    closures = Closures(project, index, heavy, options.arch, options.defines, options.include_dirs)
    modules = {module.name: module for module in project.modules}
    compiler = find_compiler()
    made = [certify(project, modules[name], closures.of, heavy, compiler, default_jobs()) for name in names]
    index.save()
    return made
