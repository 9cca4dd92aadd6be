-- Idempotency records.
-- KEYS     a record's, which is handed in.
-- ARGV     the request's fingerprint, which is handed in.
-- returns  4 on: a record that is replayed. The letter of its operation is returned.

-- The text of a record or of a claim; false if it has ended, or was written by a clock that has since stepped back.
-- A claim: its end, a question mark, its owner. A record: its end, the fingerprint of the request, the answer.
local function recordOf(name)
  local known = call('GET', name)
  local ends = known and read('<d', known) or 0
  return ends > now and ends <= now + REPLAYABLE_US + GRACE_US and known
end

-- What a record of somebody else's says to a request with this fingerprint.
local function letterOf(known, fingerprint)
  if sub(known, RECORD_TEXT_AT, RECORD_TEXT_AT) == '?' then return 'p' end
  if sub(known, RECORD_TEXT_AT, RECORD_TEXT_AT - 1 + #fingerprint) ~= fingerprint then return 'c' end
  records[#records + 1] = known
  return 'r'
end
