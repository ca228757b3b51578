#!/bin/sh
# Makes the certificates of this folder anew, with OpenSSL 3. The keys of the authorities are thrown away: nothing else can be signed with them.
set -eu
cd "$(dirname "$0")"
umask 022
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# They begin long ago, for machines whose clock is behind.
valid='-startdate 20200101000000Z -enddate 21200101000000Z'
: >"$scratch/index"
cat >"$scratch/conf" <<CONF
[ca]
default_ca = tests
[tests]
database = $scratch/index
new_certs_dir = $scratch
rand_serial = yes
default_md = sha256
unique_subject = no
policy = names
[names]
commonName = supplied
CONF

# request NAME KEY: a key of its own, and a request for its certificate
request() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=laurel tests $1" -keyout "$2" -out "$scratch/$1.csr"
}

# issue NAME OPTIONS...: the certificate that was asked for, with what the file NAME.ext says
issue() {
  name=$1 && shift
  openssl ca -batch -notext -config "$scratch/conf" $valid -extfile "$scratch/$name.ext" -in "$scratch/$name.csr" -out "$name.pem" "$@"
}

authority() {
  request "$1" "$scratch/$1.key"
  printf 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n' >"$scratch/$1.ext"
  issue "$1" -selfsign -keyfile "$scratch/$1.key"
}

# certificate NAME USE NAMES, signed by ca
certificate() {
  request "$1" "$1.key.pem"
  printf 'basicConstraints=CA:FALSE\nextendedKeyUsage=%s\nsubjectAltName=%s\n' "$2" "$3" >"$scratch/$1.ext"
  issue "$1" -cert ca.pem -keyfile "$scratch/ca.key"
}

authority ca
authority other-ca
certificate server serverAuth DNS:localhost,IP:127.0.0.1
certificate elsewhere serverAuth DNS:elsewhere.example
certificate client clientAuth DNS:laurel
(valid='-startdate 20200101000000Z -enddate 20200102000000Z' && certificate expired serverAuth DNS:localhost,IP:127.0.0.1)
# With this one, tests sign messages of Amazon SNS, which uses RSA.
openssl req -new -newkey rsa:2048 -nodes -subj '/CN=laurel tests sns' -keyout sns.key.pem -out "$scratch/sns.csr"
printf 'basicConstraints=CA:FALSE\n' >"$scratch/sns.ext"
issue sns -selfsign -keyfile sns.key.pem
chmod 644 ./*.pem
