-- Streams stand alone: in a cluster they may be on another server than everything else.
-- KEYS: the stream. ARGV: a clock for tests, what to keep in milliseconds, the entry.
local key, keep = KEYS[1], tonumber(ARGV[2])
local now
if ARGV[1] ~= '' then
  now = tonumber(ARGV[1])
else
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
local millis, seq, first = now, 0, nil
if redis.call('EXISTS', key) == 1 then
  local about, last = redis.call('XINFO', 'STREAM', key), '0-0'
  for i = 1, #about, 2 do
    if about[i] == 'last-generated-id' then last = about[i + 1] end
    if about[i] == 'first-entry' and about[i + 1] then first = about[i + 1][1] end
  end
  local at, place = string.match(last, '^(%d+)-(%d+)$')
  if tonumber(at) >= now then millis, seq = tonumber(at), tonumber(place) + 1 end
end
redis.call('XADD', key, string.format('%.0f-%.0f', millis, seq), 'b', ARGV[3])
-- The newest of those that are too old stays: who has read it knows that nothing was forgotten since.
-- Whether there is any is asked first: to look backwards from before the first entry goes through all of them.
local oldest = math.max(now - keep, 0)
if first and tonumber(string.match(first, '^%d+')) < oldest then
  local marker = redis.call('XREVRANGE', key, string.format('(%.0f-0', oldest), '-', 'COUNT', 1)
  if marker[1] then redis.call('XTRIM', key, 'MINID', marker[1][1]) end
end
redis.call('PEXPIRE', key, 2 * keep + 60000)
return { millis, seq }
