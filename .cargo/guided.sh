#!/bin/sh
# Called by cargo in place of rustc: gives each region of this package's code a counter (tests/parsers/coverage.rs).
exec "$@" -C instrument-coverage --cfg guided
