#!/usr/bin/env bash
# Installs the wheel of `make wheel` into a fresh environment and runs the package's tests there. Torch, and DGL if there
# is one, are those of another Python. TESTS names some of the tests' files; by default, all run.
#
#     python/check.sh ENVIRONMENT PYTHON [PACKAGE ...]
set -euo pipefail
cd "$(dirname "$0")/.."
environment="$1"
packages='import sysconfig; print(sysconfig.get_path("purelib"))'
"$2" -m venv --clear "$environment"
"$2" -c "$packages" >"$("$environment/bin/python" -c "$packages")/torch.pth"
"$environment/bin/pip" install --quiet target/wheels/*.whl "ipykernel<8" "jupyter_client<9" "matplotlib<4" "mypy<3" "nbconvert<8" "pandas<4" "pyarrow<20" "pytest<10" \
    "scikit-learn<2" "safetensors<1" "scipy<2" "${@:3}"
# Where PYTHONDONTWRITEBYTECODE is set, each of some hundred processes would compile the 1,500 modules of torch.
"$environment/bin/python" -m compileall -q -j 0 "$("$2" -c "$packages")"/torch* "$environment"/lib/python3*/site-packages >/dev/null || true
(cd python && "../$environment/bin/mypy")
# shellcheck disable=SC2086
"$environment/bin/pytest" -q -p no:cacheprovider -rs --durations=5 ${TESTS:-python/tests}
