-- Plays a history, one step a line, with the compiled algorithms and prints every number that comes of
-- it. The test beside it plays the same history in TypeScript. Logs and holds are plain tables here.
local algorithm = dofile(arg[1])

local function entries()
  local list = {}
  return {
    count = function() return #list end,
    stamp = function(_, i) return list[i + 1].stamp end,
    cost = function(_, i) return list[i + 1].cost end,
    setCost = function(_, i, cost) list[i + 1].cost = cost end,
    push = function(_, stamp, cost) list[#list + 1] = { stamp = stamp, cost = cost } end,
    dropOldest = function(_, n) for _ = 1, n do table.remove(list, 1) end end,
    dropNewest = function() table.remove(list) end,
  }
end

local function holds()
  local list = {}
  local self = {}
  local function live(now)
    local units = {}
    for _, hold in pairs(list) do
      if hold.expiry > now then
        for _ = 1, hold.cost do units[#units + 1] = hold.expiry end
      end
    end
    table.sort(units)
    return units
  end
  function self.live(_, now) return #live(now) end
  function self.nthExpiry(_, n, now) return live(now)[n] end
  function self.lastExpiry()
    local last = 0
    for _, hold in pairs(list) do last = math.max(last, hold.expiry) end
    return last
  end
  function self.expiryOf(_, id) return list[id] and list[id].expiry or 0 end
  function self.renew(_, id, expiry)
    if list[id] and list[id].expiry < expiry then list[id].expiry = expiry end
  end
  function self.add(_, id, cost, expiry) list[id] = { cost = cost, expiry = expiry } end
  function self.dropExpired(_, now)
    for id, hold in pairs(list) do if hold.expiry <= now then list[id] = nil end end
  end
  function self.shorten(_, expiry)
    for _, hold in pairs(list) do hold.expiry = math.min(hold.expiry, expiry) end
  end
  function self.remove(_, id)
    local cost = list[id] and list[id].cost or 0
    list[id] = nil
    return cost
  end
  function self.removeAll() list = {} end
  return self
end

local limit, row, beside
local out = {}

local function show(first)
  local words = { string.format('%.17g', first) }
  for i = 1, 6 do words[#words + 1] = string.format('%.17g', out[i]) end
  for i = 1, #row do words[#words + 1] = string.format('%.17g', row[i]) end
  words[#words + 1] = string.format('%.17g', algorithm.emptyAt(row, 0, limit, beside))
  print(table.concat(words, ' '))
end

for line in io.lines() do
  local words, n = {}, {}
  for word in line:gmatch('%S+') do
    words[#words + 1] = word
    n[#words] = tonumber(word)
  end
  local step = words[1]
  if step == 'limit' then
    limit = algorithm.limitNumbers(n[2], n[3], n[4], n[5], n[6] == 1)
    limit.since = n[7]
    limit.bounds = {}
    for i = 8, #words do limit.bounds[i - 7] = n[i] end
  elseif step == 'new' then
    row = {}
    for i = 1, algorithm.widthOf(limit.kind) do row[i] = 0 end
    beside = limit.kind == 4 and holds() or entries()
    for i = 1, 6 do out[i] = 0 end
  elseif step == 'check' then
    algorithm.decide(row, 0, limit, n[2], n[3], out, 0, beside, words[4])
    if out[1] == 0 and words[5] == 'take' then
      algorithm.take(row, 0, limit, n[2], n[3], out, 0, beside, words[4])
    end
    show(out[1])
  elseif step == 'refund' then
    show(algorithm.refund(row, 0, limit, n[2], n[3], n[4], n[5], n[6], n[7], beside))
  elseif step == 'grant' then
    show(algorithm.grant(row, 0, limit, n[2], n[3], beside))
  elseif step == 'charge' then
    show(algorithm.charge(row, 0, limit, n[2], n[3], beside))
  elseif step == 'raise' then
    show(algorithm.atLeast(row, 0, limit, n[2], n[3], beside))
  elseif step == 'reset' then
    show(algorithm.reset(row, 0, limit, n[2], beside))
  elseif step == 'restart' then
    if algorithm.canRestart(limit, n[2]) then algorithm.restart(row, 0, limit, n[2], beside) end
    show(0)
  elseif step == 'renew' then
    show(algorithm.renewHold(limit, n[2], beside, words[3]))
  end
end
