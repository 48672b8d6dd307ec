-- KEYS: the stream. ARGV: the place after which, how many entries at most. About four megabytes are told at once.
local key = KEYS[1]
local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)
local found = redis.call('XRANGE', key, '(' .. ARGV[1], '+', 'COUNT', ARGV[2])
local entries, bytes = {}, 0
for _, entry in ipairs(found) do
  if bytes > 4194304 then break end
  bytes = bytes + #(entry[2][2] or '')
  entries[#entries + 1] = entry[1]
  entries[#entries + 1] = entry[2][2] or ''
end
return { last[1] and last[1][1] or '', entries }
