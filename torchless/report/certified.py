"""Certificates, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from torchless import __version__
from torchless.report.color import Paint
from torchless.verify.answer import Verdict
from torchless.verify.certificate import Certificate

SCHEMA_VERSION = 1
_STYLES = {Verdict.PASS: "new", Verdict.FAIL: "code", Verdict.NOT_RUN: "chain"}


def text(certificates: Sequence[Certificate], paint: Paint) -> str:
    """A paragraph for each module: what every witness says, what it found, and what it did not look at."""
    out = []
    for certificate in certificates:
        word = "free of torch" if certificate.torch_free else "not free of torch, as far as could be seen"
        out.append(f"{paint(certificate.module, 'bold')}: {word}\n")
        for witness in certificate.witnesses:
            mark = paint(f"{witness.verdict.value:<8}", _STYLES[witness.verdict])
            out.append(f"  {witness.name:<14} {mark} {witness.detail}\n")
            out += [f"                 {line}\n" for line in witness.evidence]
            out += [f"                 not checked: {line}\n" for line in witness.unseen]
    return "".join(out)


def to_json(certificates: Sequence[Certificate]) -> str:
    """The certificates as one JSON object with a final newline."""
    rows = [
        {
            "module": c.module,
            "torch_free": c.torch_free,
            "sources": c.sources,
            "witnesses": [
                {
                    "name": w.name,
                    "verdict": w.verdict.value,
                    "detail": w.detail,
                    "evidence": list(w.evidence),
                    "unseen": list(w.unseen),
                }
                for w in c.witnesses
            ],
        }
        for c in certificates
    ]
    return (
        json.dumps({"schema_version": SCHEMA_VERSION, "torchless": __version__, "certificates": rows}, indent=1) + "\n"
    )
