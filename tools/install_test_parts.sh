#!/usr/bin/env bash
# Installs the programs that some tests drive and pip cannot bring. It never fails: where one
# cannot be had, its tests skip, and a line here says so.
set -euo pipefail

# Each line: the program looked for, other names it goes by, and the apt package that brings it.
parts=(
    "chromium|chromium-browser google-chrome|chromium"
)

is_there() {
    local name
    for name in "$@"; do
        command -v "$name" >/dev/null 2>&1 && return 0
    done
    return 1
}

skip() {
    printf 'test parts: %s is not installed (%s): the tests that need it will be skipped.\n' "$1" "$2"
}

fetch() {
    local package=$1 log status=0
    log=$(mktemp)
    printf 'test parts: installing %s with apt ...\n' "$package"
    {
        export DEBIAN_FRONTEND=noninteractive
        apt-get install -y --no-install-recommends "$package" ||
            { apt-get update && apt-get install -y --no-install-recommends "$package"; }
    } >"$log" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        tail -n 3 "$log"
    fi
    rm -f "$log"
    return "$status"
}

for part in "${parts[@]}"; do
    IFS='|' read -r program others package <<<"$part"
    # shellcheck disable=SC2086  # the other names are words on purpose
    if is_there "$program" $others; then
        continue
    elif ! is_there apt-get; then
        skip "$program" "no apt-get here; install it by hand to run them"
    elif [ "$(id -u)" -ne 0 ]; then
        skip "$program" "not root; run: sudo apt-get install $package"
    elif ! fetch "$package"; then
        skip "$program" "apt could not bring $package"
    fi
done
