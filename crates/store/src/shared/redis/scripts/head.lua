-- The head of every script but those of streams: the time, the epoch, and the arguments one after another.
-- ARGV: the life of the server (run id), a clock for tests (empty otherwise), which secret is used, then what the script
-- itself takes. `memory/rows.rs` says the same in Rust.
local P = '{weir}:'
local KNOWN = 1
local USE, SILENT, SETTLE, HAND_IN, HERE, CLOCKS = 2000, 86400000, 5000, 10000, 10000, 1000
local DAY, LOOSE = 86400000, 60000
local OFF_WAIT, UNCERTAIN_WAIT = 60000, 30000
local MOST_MEMBERS, MOST_LIMITS, MOST_COUNTED, MOST_STARTS = 1000, 16, 16, 2000
local MOST_CONFIGURED = 16
-- What is kept for as long as anybody is there; a key that nobody writes to ends by itself.
local LONG = 30 * DAY
local NOBODYS = string.rep('0', 32)

local call = redis.call
local place = 3
local function take() place = place + 1 return ARGV[place] end
local function number() return tonumber(take()) end
-- An empty argument is none.
local function maybe() local given = take() if given == '' then return nil end return given end
local function several() local all = {} for i = 1, number() do all[i] = take() end return all end

local meta = call('HMGET', P .. 'meta', 'now', 'epoch', 'run', 'began', 'needs', 'check')
local function newer(needs, up)
  if tonumber(needs or '0') > KNOWN then return redis.error_reply('WEIRNEWER ' .. needs .. ' ' .. (up or '')) end
end
if tonumber(meta[5] or '0') > KNOWN then return newer(meta[5]) end
if meta[6] and meta[6] ~= ARGV[3] then return redis.error_reply('WEIRSECRET another secret') end

local now
if ARGV[2] ~= '' then
  now = tonumber(ARGV[2])
else
  local time = call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
if meta[1] and tonumber(meta[1]) > now then now = tonumber(meta[1]) end
call('HSET', P .. 'meta', 'now', now)
if not meta[6] then
  call('HSET', P .. 'meta', 'check', ARGV[3], 'needs', KNOWN)
  call('PEXPIRE', P .. 'meta', LONG)
end
local epoch, began = meta[2], tonumber(meta[4] or '0')
local valid = epoch and meta[3] == ARGV[1]
