#!/usr/bin/env bash
# Prints the Python that the virtual environment is made with: the first that runs, is 3.11 or
# newer and can make one. PYTHON=... names one outright.
set -euo pipefail

# Newer than this is taken only when nothing of 3.11 to 3.13 is there: wheels may be missing.
if [ -n "${PYTHON:-}" ]; then
    candidates=("$PYTHON")
else
    candidates=(python3 python3.13 python3.12 python3.11 python3.14 python)
fi

probe='
import sys
found = "%d.%d.%d" % sys.version_info[:3]
if sys.version_info < (3, 11):
    print("old", found, sys.executable)
else:
    try:
        import ensurepip, venv
        print("tested" if sys.version_info < (3, 14) else "newer", found, sys.executable)
    except ImportError:
        print("bare", found, sys.executable)
'

newer="" bare="" old=""
for candidate in "${candidates[@]}"; do
    # A version manager may leave a name on the PATH that runs nothing: then it prints no line.
    answer=$("$candidate" -c "$probe" 2>/dev/null) || continue
    read -r kind found path <<<"$answer"
    case "$kind" in
        tested) printf '%s\n' "$path"; exit 0 ;;
        newer) newer=${newer:-$path} ;;
        bare) bare=${bare:-$path $found} ;;
        old) old=${old:-$path $found} ;;
    esac
done

if [ -n "$newer" ]; then
    printf '%s\n' "$newer"
    exit 0
fi
{
    printf 'Hermes needs Python 3.11, 3.12 or 3.13 with the venv module.\n'
    if [ -n "$bare" ]; then
        version=${bare##* }
        printf 'Found %s (%s), but its ensurepip is missing.\n' "${bare% *}" "$version"
        printf 'On Debian or Ubuntu: apt install python%s-venv, then run this again.\n' "${version%.*}"
    elif [ -n "$old" ]; then
        printf 'Found only %s (%s), which is too old.\n' "${old% *}" "${old##* }"
        printf 'Install a newer one, or name it: make setup PYTHON=/path/to/python3.12\n'
    else
        printf 'Found none of: %s.\n' "${candidates[*]}"
        printf 'Install one, or name it: make setup PYTHON=/path/to/python3.12\n'
    fi
} >&2
exit 1
