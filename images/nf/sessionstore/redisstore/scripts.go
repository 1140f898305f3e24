package redisstore

import "github.com/redis/go-redis/v9"

// What the scripts read and write (prefix is the store's):
//
//	<prefix>generation        which life of the data this is
//	<prefix>lease:<shard>     "<epoch>|<generation>|<holder>", with the lease's time to live
//	<prefix>epoch:<shard>     the newest epoch, for ever
//	<prefix>writes:<client>   how many writes of a client were executed: what it compares after a reconnection
//	<prefix>r:<key>           16 octets of revision, then the record
//	<prefix>i:<kind>:<value>  the key that a unique index names
//	<prefix>g:<group>         set of keys
//	<prefix>intents:<shard>   sorted set: key by the time at which the intent was opened, ms
//	<prefix>due:<shard>       sorted set: "<name> <key>" by the time at which it is due, ms
//	<prefix>block:<name>      the next number to reserve
//
// A script is one step for everybody else, and is replicated by its effects.

// acquire: KEYS lease, epoch, generation; ARGV holder, ttl ms, a generation in case there is none.
var acquire = redis.NewScript(`
local now = redis.call('TIME')
local held = redis.call('GET', KEYS[1])
if held then
  local epoch, holder = string.match(held, '^(%d+)|[^|]*|(.*)$')
  if holder ~= ARGV[1] then return {'HELD', holder, redis.call('PTTL', KEYS[1]), epoch} end
end
redis.call('SET', KEYS[3], ARGV[3], 'NX')
local generation = redis.call('GET', KEYS[3])
local before = tonumber(redis.call('GET', KEYS[2]) or '0')
local epoch = math.max(before + 1, now[1] * 1000 + math.floor(now[2] / 1000))
local text = string.format('%.0f', epoch)
redis.call('SET', KEYS[2], text)
redis.call('SET', KEYS[1], text .. '|' .. generation .. '|' .. ARGV[1], 'PX', ARGV[2])
return {'OK', text, generation}
`)

// fenced is how every write begins: KEYS lease, generation, writes; ARGV lease value, generation.
const fenced = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('GET', KEYS[2]) ~= ARGV[2] then return {'FENCED'} end
`

// written is how every write ends; the client's count lives for a week after its last write.
const written = `
local n = redis.call('INCR', KEYS[3])
if n == 1 or n % 1024 == 0 then redis.call('EXPIRE', KEYS[3], 604800) end
return {'OK', n}
`

// renew: ARGV[3] ttl ms.
var renew = redis.NewScript(fenced + `
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('EXPIRE', KEYS[3], 604800)
return {'OK'}
`)

// release: a lease that is another's by now stays. KEYS lease; ARGV lease value.
var release = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return {'OK'}
`)

// commit: KEYS[4] record, [5] intents, [6] due, then indexes to add, to remove, groups to join, to leave; ARGV[3] key,
// [4] was, [5] is, [6] "1" to delete, [7] value, [8] "open", "close" or "", [9] now in ms, [10…13] how many indexes are
// added and removed, groups joined and left, [14] how many names are due no more in the shard that the record is taken from, these names, then pairs of
// a due name and its time in ms, or "". Where it is taken from one, intents and due of that are the last KEYS.
var commit = redis.NewScript(fenced + `
local key, was, is = ARGV[3], ARGV[4], ARGV[5]
local none = string.rep('\0', 16)
local there = redis.call('GETRANGE', KEYS[4], 0, 15)
if there == '' then there = none end
local delete = ARGV[6] == '1'
-- Its own write, repeated: the rest was done with it.
if there == is or (delete and there == none and was ~= none) then
` + written + `
end
if there ~= was then return {'CONFLICT'} end
local prefix = string.sub(KEYS[4], 1, #KEYS[4] - #key)
local at = 7
for n = 0, ARGV[10] - 1 do
  local other = redis.call('GET', KEYS[at + n])
  if other and other ~= key and redis.call('EXISTS', prefix .. other) == 1 then return {'TAKEN', KEYS[at + n]} end
end
if delete then redis.call('DEL', KEYS[4]) else redis.call('SET', KEYS[4], is .. ARGV[7]) end
for n = 1, ARGV[10] do redis.call('SET', KEYS[at], key); at = at + 1 end
for n = 1, ARGV[11] do
  if redis.call('GET', KEYS[at]) == key then redis.call('DEL', KEYS[at]) end
  at = at + 1
end
for n = 1, ARGV[12] do redis.call('SADD', KEYS[at], key); at = at + 1 end
for n = 1, ARGV[13] do redis.call('SREM', KEYS[at], key); at = at + 1 end
if ARGV[8] == 'open' then redis.call('ZADD', KEYS[5], 'NX', ARGV[9], key)
elseif ARGV[8] == 'close' or delete then redis.call('ZREM', KEYS[5], key) end
local first = 15 + ARGV[14]
if at < #KEYS then
  redis.call('ZREM', KEYS[at], key)
  for n = 15, first - 1 do redis.call('ZREM', KEYS[at + 1], ARGV[n] .. ' ' .. key) end
end
for n = first, #ARGV, 2 do
  local member = ARGV[n] .. ' ' .. key
  if ARGV[n + 1] == '' then redis.call('ZREM', KEYS[6], member) else redis.call('ZADD', KEYS[6], ARGV[n + 1], member) end
end
` + written)

// reserve: KEYS[4] block; ARGV[3] how many.
var reserve = redis.NewScript(fenced + `
local last = redis.call('INCRBY', KEYS[4], ARGV[3])
local n = redis.call('INCR', KEYS[3])
return {'OK', n, string.format('%.0f', last - ARGV[3])}
`)

// find: KEYS index; ARGV the prefix of records. A dangling index names nothing.
var find = redis.NewScript(`
local key = redis.call('GET', KEYS[1])
if not key then return false end
local record = redis.call('GET', ARGV[1] .. key)
if not record then return false end
return {key, record}
`)

// forgotten gives the data a new generation, unless somebody did since: KEYS generation; ARGV the old one, a new one.
var forgotten = redis.NewScript(`
local there = redis.call('GET', KEYS[1])
if not there or there == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) end
return redis.call('GET', KEYS[1])
`)
