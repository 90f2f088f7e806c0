.PHONY: test lint docs ci

test:
	python -m pytest -n auto

lint:
	ruff check .
	ruff format --check .
	mypy

docs:
	python -c 'from pathlib import Path; from torchless.rules.docs import write_pages; write_pages(Path("docs/rules"))'

ci:
	.ci/run
