-- What logs and holds keep beside their row, each under a key of its own with the row's tag.
-- KEYS     after the row's key: one for each limit that is a log or a concurrency limit, in order.
-- ARGV     nothing of its own.
-- returns  nothing: the callers answer. A row that is started anew makes the time in the reply negative.
--
-- A log is a list of packed (stamp, cost), read in pieces. Reading past its end returns a huge cost, so
-- that every search stops, also where a log has lost its row, or a row its log.
local PIECE = 128
local Log = {}
Log.__index = Log
function Log:count() return self.n end
function Log:entry(i)
  local piece = floor(i / PIECE)
  local found = self.pieces[piece]
  if not found then
    found = call('LRANGE', self.key, piece * PIECE, piece * PIECE + PIECE - 1)
    self.pieces[piece] = found
  end
  return found[i - piece * PIECE + 1]
end
function Log:stamp(i)
  if i >= self.n then return now end
  return (read('<d', self:entry(i)))
end
function Log:cost(i)
  if i >= self.n then return 9007199254740991 end
  return (read('<d', self:entry(i), DOUBLE + 1))
end
function Log:setCost(i, cost)
  call('LSET', self.key, i, pack('<dd', self:stamp(i), cost))
  self.pieces = {}
end
function Log:push(stamp, cost)
  self:trim()
  if self.n == 0 then call('DEL', self.key) end
  call('RPUSH', self.key, pack('<dd', stamp, cost))
  self.n, self.pieces = self.n + 1, {}
end
function Log:dropOldest(n)
  if n == 0 then return end
  self:trim()
  call('LTRIM', self.key, n, -1)
  self.n, self.pieces = self.n - n, {}
end
-- Many may go one after the other: they are cut off together.
function Log:dropNewest()
  self.n, self.isLong = self.n - 1, true
end
function Log:trim()
  if not self.isLong then return end
  self.isLong = false
  if self.n == 0 then call('DEL', self.key) else call('LTRIM', self.key, 0, self.n - 1) end
end

-- Holds are a sorted set: `id/1` to `id/cost`, each with its expiry.
local Holds = {}
Holds.__index = Holds
function Holds:live(time) return call('ZCOUNT', self.key, format('(%.0f', time), '+inf') end
function Holds:nthExpiry(n, time)
  local found = call('ZRANGEBYSCORE', self.key, format('(%.0f', time), '+inf', 'WITHSCORES', 'LIMIT', n - 1, 1)
  return tonumber(found[2]) or time
end
function Holds:lastExpiry()
  local found = call('ZRANGE', self.key, -1, -1, 'WITHSCORES')
  return tonumber(found[2]) or 0
end
function Holds:expiryOf(id) return tonumber(call('ZSCORE', self.key, id .. '/1') or 0) end
function Holds:trim() end
function Holds:renew(id, expiry)
  local k, score = 1, format('%.0f', expiry)
  local words = {}
  while call('ZSCORE', self.key, id .. '/' .. k) do
    words[2 * k - 1], words[2 * k] = score, id .. '/' .. k
    k = k + 1
  end
  if k > 1 then call('ZADD', self.key, 'GT', unpack(words)) end
end
function Holds:add(id, cost, expiry)
  self:remove(id)
  local words, score = {}, format('%.0f', expiry)
  for k = 1, cost do words[2 * k - 1], words[2 * k] = score, id .. '/' .. k end
  call('ZADD', self.key, unpack(words))
end
function Holds:dropExpired(time) call('ZREMRANGEBYSCORE', self.key, '-inf', format('%.0f', time)) end
function Holds:shorten(expiry)
  local score = format('%.0f', expiry)
  for _, id in ipairs(call('ZRANGEBYSCORE', self.key, '(' .. score, '+inf')) do call('ZADD', self.key, score, id) end
end
function Holds:remove(id)
  local k = 1
  while call('ZREM', self.key, id .. '/' .. k) == 1 do k = k + 1 end
  return k - 1
end
function Holds:removeAll() call('DEL', self.key) end

-- What each log and concurrency limit keeps beside the row. Counts their keys as used. A row that is gone has no log.
local function sidesOf(rule, w)
  local sides = {}
  for j = 1, rule.count do
    local limit = rule.limits[j]
    if limit.kind == SLIDING_LOG then
      usedKeys = usedKeys + 1
      local n = w.found and call('LLEN', KEYS[usedKeys]) or 0
      if n == 0 then w.row[limit.at + 1] = 0 end
      sides[j] = setmetatable({ key = KEYS[usedKeys], n = n, pieces = {} }, Log)
    elseif limit.kind == CONCURRENCY then
      usedKeys = usedKeys + 1
      sides[j] = setmetatable({ key = KEYS[usedKeys] }, Holds)
    end
  end
  return sides
end

-- Columns of other variants that are still to be believed: of buckets as full as at the last write.
local function restartOthers(otherColumns, written)
  local kept = {}
  for _, other in ipairs(otherColumns) do
    -- Of windows the first number is their start.
    local numbers, time = other.numbers, other.numbers[1]
    if other.amount then
      numbers[T + 1], time = max(now, numbers[T + 1] - (written - now)), 0
    elseif sub(other.name, 1, 1) == 'e' then
      time = numbers[SEEN + 1]
    end
    if time <= now + GRACE_US then kept[#kept + 1] = other end
  end
  return kept
end

-- Restarts a row whose times lie ahead because the clock has since stepped back by more than the grace. It is
-- done also for a denied request, so that it is done once. Receipts from before give nothing because of the
-- sums, leases because of the row's birth; the key lives on as long as they could. Nothing is restarted while a limit
-- needs other calendar bounds.
local function restartIfAhead(rule, w, sides, rowKey)
  local ahead = w.found and w.written > now + GRACE_US
  for j = 1, rule.count do
    local limit = rule.limits[j]
    if limit.kind == CONCURRENCY and isHeldTooLong(limit, now, sides[j]) then ahead = true end
    if not canRestart(limit, now) then return end
  end
  if not ahead then return end
  stepped = true
  for j = 1, rule.count do
    local limit = rule.limits[j]
    restart(w.row, limit.at, limit, now, sides[j])
    w.sums[j] = w.sums[j] + RESET
  end
  if w.found then w.otherColumns = restartOthers(w.otherColumns, w.written) end
  w.birth, w.last, w.written = now, now, now
  if w.lease then carryLeases(w.lease, now) end
  if w.found then save(rule, rowKey, w, sides) end
end
