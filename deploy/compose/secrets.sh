#!/bin/sh
# Makes what must be secret, once. Runs as root without a network; the prober's user is 10001, postgres reads as its own.
set -eu
umask 077
state=/var/lib/prober database=/run/secrets/database
if [ ! -s "$database/password" ]; then
  python -c 'import secrets; print(secrets.token_hex(24), end="")' > "$database/password.new"
  mv "$database/password.new" "$database/password"
fi
# The volume is the database's alone, whose user's number depends on its image.
chmod 0755 "$database"
chmod 0444 "$database/password"
[ -s "$state/canary.key" ] || prober key new "$state/canary.key"
[ -s "$state/vault.key" ] || prober vault key new "$state/vault.key"
printf 'postgresql://prober:%s@database/prober' "$(cat "$database/password")" > "$state/database-url"
chown -R 10001:10001 "$state"
