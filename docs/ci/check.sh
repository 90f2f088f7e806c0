#!/bin/sh
# What a change brings in, in any CI: fails on new findings, and leaves files for whatever shows them.
#   BASE   the revision to compare with (origin/main)
#   OUT    the folder for the files (torchless-out)
set -eu
base=${BASE:-origin/main} out=${OUT:-torchless-out}

mkdir -p "$out"
torchless check --since "$base" --output-format junit -o "$out/torchless.xml" --exit-zero -q
torchless check --since "$base" --output-format sarif -o "$out/torchless.sarif" --exit-zero -q
torchless check --since "$base" --output-format concise
