-- What is known of upstreams, for the scripts that look at windows.
local function counts(window) return window * 1000 + USE end
local function starts_of(up, ledger) return P .. 'starts:' .. up .. ':' .. ledger end
local function counted_of(up, ledger) return P .. 'counted:' .. up .. ':' .. ledger end
local function shares_in(up, ledger, window) return P .. 'share:' .. up .. ':' .. ledger .. ':' .. window end
local function row_of(up) return P .. 'up:' .. up end

local rows = {}
-- The row of an upstream, read once. Fields that this Weir does not know stay as they are.
local function row(up)
  if not rows[up] then
    local flat, fields = call('HGETALL', row_of(up)), {}
    for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
    rows[up] = fields
  end
  return rows[up]
end
local function set(up, field, value)
  local fields = row(up)
  if value == nil then
    if fields[field] ~= nil then call('HDEL', row_of(up), field) end
    fields[field] = nil
  else
    value = tostring(value)
    if fields[field] ~= value then
      call('HSET', row_of(up), field, value)
      call('PEXPIRE', row_of(up), LONG)
    end
    fields[field] = value
  end
end
-- The first row that needs a newer Weir.
local function too_new(ups)
  for _, up in ipairs(ups) do
    if tonumber(row(up).needs or '0') > KNOWN then return newer(row(up).needs, up) end
  end
end

local function longest(up, ledger) return tonumber(row(up)['longest:' .. ledger] or '0') end
local function keep(up, ledger) return math.max(longest(up, ledger), LOOSE) + USE end
local function lasts(key, up, ledger) call('PEXPIRE', key, math.max(longest(up, ledger), DAY) + LOOSE) end
local function see(up, ledger, length)
  if length > longest(up, ledger) then
    set(up, 'longest:' .. ledger, length)
    -- What was counted for a shorter window counts in this one as well.
    lasts(starts_of(up, ledger), up, ledger)
    lasts(counted_of(up, ledger), up, ledger)
  end
end

-- Starts of which only the number is known: when, in which window, how many. Read once for all windows.
local lumps_of = {}
local function lumps(up, ledger)
  local key = counted_of(up, ledger)
  if not lumps_of[key] then
    local found = {}
    for _, text in ipairs(call('LRANGE', key, 0, -1)) do
      local at, window, count = string.match(text, '^(%d+):(%d+):(%d+)$')
      if at then found[#found + 1] = { at = tonumber(at), window = tonumber(window), count = tonumber(count) } end
    end
    lumps_of[key] = found
  end
  return lumps_of[key]
end
local function count(up, ledger, window, more)
  see(up, ledger, window * 1000)
  local key, kept, of_window = counted_of(up, ledger), {}, 0
  local found, before = lumps(up, ledger), call('LLEN', counted_of(up, ledger))
  found[#found + 1] = { at = now, window = window, count = more }
  for _, lump in ipairs(found) do
    if now < lump.at + counts(lump.window) then
      kept[#kept + 1] = lump
      if lump.window == window then of_window = of_window + 1 end
    end
  end
  if of_window > MOST_COUNTED then
    -- The two oldest become one, which counts until the later of them would end.
    for i, lump in ipairs(kept) do
      if lump.window == window then
        table.remove(kept, i)
        for j = i, #kept do
          if kept[j].window == window then
            kept[j].count = math.min(kept[j].count + lump.count, 4294967295)
            break
          end
        end
        break
      end
    end
  end
  lumps_of[key] = kept
  -- The new ones first: whatever ends a script half way must not leave less than was counted.
  for _, lump in ipairs(kept) do
    call('RPUSH', key, string.format('%.0f:%.0f:%.0f', lump.at, lump.window, lump.count))
  end
  call('LTRIM', key, before, -1)
  lasts(key, up, ledger)
end

-- How many starts count in a window; in the day that began then, where it is no sliding one.
local function used(up, ledger, window, day)
  local key, sum = starts_of(up, ledger), nil
  local low = now - counts(window)
  if day then
    sum = call('ZCOUNT', key, day - USE, '+inf')
  else
    sum = call('ZCOUNT', key, '(' .. low, '+inf')
  end
  for _, lump in ipairs(lumps(up, ledger)) do
    if lump.window == window and ((day and lump.at >= day - USE) or (not day and lump.at > low)) then
      sum = sum + lump.count
    end
  end
  return sum
end

-- How long until another start fits into a full sliding window.
local function next_fit(up, ledger, window, sum, left)
  if left <= 0 then return counts(window) end
  local key, low = starts_of(up, ledger), now - counts(window)
  local to_end, before, at = sum + 1 - left, 0, nil
  local mine = {}
  for _, lump in ipairs(lumps(up, ledger)) do
    if lump.window == window and lump.at > low then mine[#mine + 1] = lump end
  end
  table.sort(mine, function(a, b) return a.at < b.at end)
  for _, lump in ipairs(mine) do
    local earlier = call('ZCOUNT', key, '(' .. low, '(' .. lump.at)
    if to_end <= earlier + before then break end
    if to_end <= earlier + before + lump.count then at = lump.at break end
    before = before + lump.count
  end
  if not at then
    local found = call('ZRANGEBYSCORE', key, '(' .. low, '+inf', 'WITHSCORES', 'LIMIT', to_end - before - 1, 1)
    at = tonumber(found[2])
  end
  if not at then return counts(window) end
  return at + counts(window) - now
end

local known, is_known, gone
-- Who was a member before this epoch and has not handed in yet. Read once; there may be a thousand of them.
local function awaited()
  if not known then
    known, is_known = epoch and call('HKEYS', P .. 'known') or {}, {}
    table.sort(known)
    for _, node in ipairs(known) do is_known[node] = true end
  end
  return known
end
local function is_awaited(node)
  awaited()
  return is_known[node] == true
end
local seen_at = {}
local function seen_of(node)
  if not seen_at[node] then seen_at[node] = tonumber(call('HGET', P .. 'members', node) or '0') end
  return seen_at[node]
end
-- When a member was last known to be there, which may be later than its row says where that is older data.
local function last_seen(node)
  if is_awaited(node) then return math.max(seen_of(node), began) end
  return seen_of(node)
end
local function missing()
  if not gone then
    gone = {}
    for _, node in ipairs(awaited()) do
      if now < last_seen(node) + SILENT then gone[#gone + 1] = node end
    end
  end
  return gone
end
-- Who is awaited has changed.
local function look_again() known, gone = nil, nil end
-- Whether all who are there have noticed that an epoch began.
local function settled() return epoch and now >= began + SETTLE end
local function handing_in()
  return not settled() or (now < began + HAND_IN and #missing() > 0)
end
-- Whether all who are there have read that a member came. Before that it is granted nothing and has no share: if the store lost
-- it now, nobody could name it.
local function met(node)
  local about = call('HMGET', P .. 'member:' .. node, 'joined', 'met')
  if about[2] == '1' or call('HEXISTS', P .. 'members', node) == 0 then return true end
  local joined, flat = tonumber(about[1] or '0'), call('HGETALL', P .. 'members')
  for i = 1, #flat, 2 do
    if flat[i] ~= node and now <= tonumber(flat[i + 1]) + HERE then
      local heard = tonumber(call('HGET', P .. 'member:' .. flat[i], 'heard') or '0')
      if heard < joined then return false end
    end
  end
  return true
end
-- Whether the starts that the store knows are all that count in a window of this length.
local function certain(window)
  return settled() and (now >= began + counts(window) or #missing() == 0)
end

local function nominal(limit) return math.max(1, math.floor(limit / 20)) end
-- What the members have of a window; of one that may know more than the store, the most that it can have.
local function reserved(up, ledger, window, limit)
  local flat, nodes, recorded, unknown = call('HGETALL', shares_in(up, ledger, window)), {}, 0, 0
  for i = 1, #flat, 2 do
    nodes[flat[i]] = true
    recorded = recorded + tonumber(flat[i + 1])
  end
  for _, node in ipairs(awaited()) do
    if not nodes[node] and now < last_seen(node) + SILENT + counts(window) then unknown = unknown + nominal(limit) end
  end
  return math.min(recorded + unknown, math.max(recorded, math.floor(limit / 2)))
end

-- The spacing clock: the last start, its name, and the one before.
local function space(up, at, id)
  local last = row(up).last
  if last and tonumber(last) > at then return end
  if row(up).last_id ~= id then set(up, 'before', last) end
  set(up, 'last', at)
  set(up, 'last_id', id)
end
local function started(up, id, ledger, age, spaced)
  local key, at = starts_of(up, ledger), math.max(now - age, 0)
  if not call('ZSCORE', key, id) then
    -- It counts in a window that this store has not seen yet.
    if age > LOOSE and age > longest(up, ledger) then set(up, 'longest:' .. ledger, math.max(age, DAY)) end
    call('ZADD', key, at, id)
    lasts(key, up, ledger)
  end
  -- Of one that was granted too: it may have been made a while later.
  if spaced then space(up, at, id) end
end
-- Whether an operator has ended its cooldown since.
local function cleared_after(up, at) return at + CLOCKS < tonumber(row(up).cleared or '0') end
local function throttle(up, span, by, reason, at)
  at = math.min(at, now)
  if cleared_after(up, at) then return end
  local before = row(up).throttled and tonumber(row(up).throttled_at or '0') or 0
  set(up, 'throttled_at', math.max(before, at))
  local till = now + span
  if till > tonumber(row(up).throttled or '-1') then
    set(up, 'throttled', till)
    set(up, 'throttled_by', by)
    set(up, 'throttled_reason', reason)
  end
end
-- An operator ended its cooldown: what was told before is forgotten.
local function clear(up, at)
  at = math.min(at, now)
  if at < tonumber(row(up).cleared or '0') then return end
  set(up, 'cleared', at)
  local gone = {}
  if tonumber(row(up).throttled_at or '0') <= at then
    gone = { 'throttled', 'throttled_by', 'throttled_reason', 'throttled_at' }
  end
  for field in pairs(row(up)) do
    if string.sub(field, 1, 6) == 'limit:' then
      local since = 'limit_at:' .. string.sub(field, 7)
      if tonumber(row(up)[since] or '0') <= at then
        gone[#gone + 1] = field
        gone[#gone + 1] = since
      end
    end
  end
  for _, field in ipairs(gone) do set(up, field, nil) end
end
-- It told a limit. The later of two counts; `again` says whether this replaces what was told at the same time, as nodes know it.
local function limit(up, ledger, window, most, told, at, again)
  local field, since, many = 'limit:' .. ledger .. ':' .. window, 'limit_at:' .. ledger .. ':' .. window, 0
  at = math.min(at, now)
  if cleared_after(up, at) then return end
  if row(up)[field] then
    local known = tonumber(row(up)[since] or '0')
    if again and at + CLOCKS < known or not again and at <= known then return end
  end
  for other in pairs(row(up)) do
    if string.sub(other, 1, 6) == 'limit:' then many = many + 1 end
  end
  if many >= MOST_LIMITS and not row(up)[field] then return end
  set(up, field, string.format('%.0f:%s', most, told or ''))
  set(up, since, at)
  see(up, ledger, window * 1000)
  if told then
    local more = math.min(tonumber(told), most) - used(up, ledger, window, nil)
    if more > 0 then count(up, ledger, window, more) end
  end
end
-- An operator switched it: `what` is off or on. The later of two counts; `again` says whether this replaces what happened at the
-- same moment.
local function switch(up, what, again)
  local node, by, reason, at = take(), take(), take(), math.min(number(), now)
  local known = tonumber(row(up).off_at or row(up).on_at or '-1')
  if at < known or (at == known and not again) then return end
  local told = { [''] = node, _by = by, _reason = reason, _at = at }
  for _, of in ipairs({ 'off', 'on' }) do
    for field, value in pairs(told) do
      if of ~= what then value = nil end
      set(up, of .. field, value)
    end
  end
end
-- A start that is handed in, as the arguments have it. Its node knows how long ago that was, while the times of older data mean
-- little where another clock goes on from them.
local function take_start()
  local up, id, ledger, age, spaced = take(), take(), take(), number(), take()
  see(up, ledger, DAY)
  started(up, id, ledger, age, spaced == '1')
  call('ZADD', starts_of(up, ledger), 'XX', 'GT', math.max(now - age, 0), id)
end
