#!/bin/sh
# Gives the password to the role of Laurel, and takes it from the superuser, who can then log in from inside the container only.
set -eu
psql --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
\getenv password POSTGRES_PASSWORD
alter role laurel password :'password';
alter role current_user password null;
SQL
