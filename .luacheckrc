-- What a Redis function sees, as Redis 7.0 has it: Lua 5.1 with Redis' own libraries, and without all that reaches out of the server.
-- `os` is among what is gone: time comes from redis.call('TIME'), or from the caller. `require` is the bundler's (src/redis).
std = 'lua51+redis'
stds.redis = { read_globals = { 'redis', 'cmsgpack', 'cjson', 'struct', 'bit' } }
not_globals = { 'debug', 'dofile', 'getfenv', 'io', 'loadfile', 'module', 'newproxy', 'os', 'package', 'print', 'setfenv' }
-- Scripts (EVAL) and no functions of the library.
files['lua/restore.lua'] = { read_globals = { 'KEYS', 'ARGV' } }
files['lua/restore-step.lua'] = { read_globals = { 'KEYS', 'ARGV' } }
max_line_length = 140
