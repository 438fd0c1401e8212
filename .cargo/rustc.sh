#!/usr/bin/env bash
# Called by cargo in place of rustc: compiles integration tests without optimisation, which takes a sixth of the time. The library that
# they call is optimised; a profile cannot tell the two apart, as they are one package.
# Not `sh`: some drop variables with a hyphen in their names, such as CARGO_BIN_EXE_sar-single.
for argument; do
    case "$argument" in
        # A model checker, whose own code takes the time.
        tests/ipc_model.rs) ;;
        tests/*) exec "$@" -C opt-level=0 -C debug-assertions=off ;;
    esac
done
exec "$@"
