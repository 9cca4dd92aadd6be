// The chain of changes, its publisher, and rules that must not be there twice.
import { L, S, ST } from './folders.mjs'

export const feed = [
  {
    name: 'a change is taken whose digest is wrong',
    file: `${S}feed/follower.ts`,
    find: ' || digestOf(change.previous, change.edits) !== change.digest) return false\n',
    replace: ') return false\n',
    test: {
      file: `${ST}feed/follower.test.ts`,
      name: 'a follower is not misled by changes that are lost, doubled or out of order',
    },
  },
  {
    name: 'a change of another history is taken',
    file: `${S}feed/follower.ts`,
    find: 'change.revision === revision + 1 && change.previous === digest\n',
    replace: 'change.revision === revision + 1\n',
    test: {
      file: `${ST}feed/follower.test.ts`,
      name: 'a follower takes no change of another history, though it has the next revision',
    },
  },
  {
    name: 'a follower goes back to an older snapshot',
    file: `${S}feed/follower.ts`,
    find: '    if (isBack && !leadsTo',
    replace: '    if (newest === null && isBack && !leadsTo',
    test: {
      file: `${ST}feed/follower.test.ts`,
      name: 'a follower does not go back to a snapshot that is older than its rules where the changes are lost',
    },
  },
  {
    name: 'a follower goes over to a shorter history at once',
    file: `${S}feed/follower.ts`,
    find: ' && !this.#isPatienceOver()) return\n',
    replace: ' && snapshotIsNone) return\n',
    also: {
      find: 'export class Follower',
      replace: 'const snapshotIsNone = Number.isNaN(0)\nexport class Follower',
    },
    test: {
      file: `${ST}feed/follower.test.ts`,
      name: 'a follower goes over to another history, where it is longer at once, where it is shorter after some patience',
    },
  },
  {
    name: 'a change joins the log wherever it ends',
    file: `${S}feed/redis-publisher.ts`,
    find: 'if revision ~= tonumber(ARGV[1]) - 1 or digest ~= ARGV[2] then return 0 end\n',
    replace: '',
    test: {
      file: `${ST}feed/redis-feed.test.ts`,
      name: 'the feed in Redis follows a database that was restored from an earlier time, and another one in its place',
    },
  },
  {
    name: 'a change joins the log of another history',
    file: `${S}feed/redis-publisher.ts`,
    find: ' or digest ~= ARGV[2] then return 0 end\n',
    replace: ' then return 0 end\n',
    test: {
      file: `${ST}feed/redis-feed.test.ts`,
      name: 'the feed in Redis follows a database that was restored from an earlier time, and another one in its place',
    },
  },
  {
    name: 'a snapshot takes the place of a newer one',
    file: `${S}feed/redis-publisher.ts`,
    find: "if snapshot ~= ARGV[7] or (ARGV[4] == '1' and (head[2] or '') ~= ARGV[8]) then return nil end\n",
    replace: '',
    test: {
      file: `${ST}feed/redis-feed.test.ts`,
      name: 'the feed in Redis is not taken back by one that stood still while another published',
    },
  },
  {
    name: 'all old snapshots are kept',
    file: `${S}feed/redis-publisher.ts`,
    find: '    if (tooMany.length > 0) await this.#redis.unlink(...tooMany)\n',
    replace: '',
    test: {
      file: `${ST}feed/redis-feed.test.ts`,
      name: 'the feed in Redis leaves a bounded number of snapshots in Redis, however many are made',
    },
  },
  {
    name: 'an old snapshot is gone while it is read',
    file: `${S}feed/redis-publisher.ts`,
    find: '    if (old[0] !== undefined) await this.#redis.expire(old[0], OLD_SNAPSHOT_SECONDS)\n',
    replace: '    if (old[0] !== undefined) await this.#redis.unlink(old[0])\n',
    test: {
      file: `${ST}feed/redis-feed.test.ts`,
      name: 'the feed in Redis makes a new snapshot when the log has become long, and lets the old one go',
    },
  },
  {
    name: 'no snapshot is made when the log has become long',
    file: `${S}feed/redis-publisher.ts`,
    find: '    if (behind < CHANGES_PER_SNAPSHOT && behind <= kept) return published\n',
    replace: '    if (behind <= kept) return published\n',
    test: {
      file: `${ST}feed/redis-feed.test.ts`,
      name: 'the feed in Redis makes a new snapshot when the log has become long, and lets the old one go',
    },
  },
  {
    name: 'a large change is put into the log',
    file: `${S}feed/redis-publisher.ts`,
    find: '      const isLarge = change.edits.length > LARGEST_CHANGE\n',
    replace: '      const isLarge = false\n',
    test: {
      file: `${ST}feed/redis-feed.test.ts`,
      name: 'the feed in Redis carries a change that is too large for the log by a snapshot',
    },
  },
  {
    name: 'several control planes publish at a time',
    file: `${S}control/publishing.ts`,
    find: '      if (lock?.mine !== true) return this.#leaveToOther(head)\n',
    replace: '',
    test: {
      file: `${ST}control/publishing.test.ts`,
      name: 'publishing is done by one at a time, and by another where that one has gone',
    },
  },
  {
    name: 'changes are given with a gap',
    file: `${S}control/database-feed.ts`,
    find: '        return rows.length === count ? rows.map((row) => ({ ...row, since: null })) : null\n',
    replace: '        return rows.map((row) => ({ ...row, since: null }))\n',
    test: {
      file: `${ST}control/feed-source.test.ts`,
      name: "the feed in 'postgres' says where changes are kept no longer",
    },
  },
  {
    name: 'any number of changes is given at once',
    file: `${S}control/database-feed.ts`,
    find: 'count > MOST_CHANGES || ',
    replace: '',
    test: {
      file: `${ST}control/feed-source.test.ts`,
      name: "the feed in 'postgres' gives no more than a thousand changes, and no more than eight megabytes of them",
    },
  },
  {
    name: 'the database takes two rules of one place',
    file: `${S}control/migrations/0001-control.ts`,
    find: '`CREATE UNIQUE INDEX rules_place ON',
    replace: '`CREATE INDEX rules_place ON',
    test: {
      file: `${ST}control/rules.test.ts`,
      name: "rules in 'postgres' has a place once in its tables, whoever writes them",
    },
  },
  {
    name: 'a rule of a place that is taken is refused without words',
    file: `${S}control/twin-rules.ts`,
    find: '  if (other === undefined) return\n',
    replace: '  if (other === undefined || contests) return\n',
    test: {
      file: `${ST}control/rules.test.ts`,
      name: "rules in 'postgres' refuses a name that is taken, and a place that is",
    },
  },
  {
    name: 'a rule in shadow contests with one that is enforced',
    file: `${S}control/content.ts`,
    find: 'export function placeOf({ scope, value, tier, patternKey: key, methods, shadow }: RulePlace) {',
    replace:
      'export function placeOf({ scope, value, tier, patternKey: key, methods, shadow: isShadow }: RulePlace) {\n  const shadow = isShadow && false',
    test: {
      file: `${ST}control/rules.test.ts`,
      name: "rules in 'postgres' refuses a name that is taken, and a place that is",
    },
  },
  {
    name: 'a disabled rule is refused for another one',
    file: `${S}control/twin-rules.ts`,
    find: '  const contests = !row.additive && row.enabled\n',
    replace: '  const contests = !row.additive\n',
    test: {
      file: `${ST}control/rules.test.ts`,
      name: "rules in 'postgres' refuses a name that is taken, and a place that is",
    },
  },
  {
    name: 'a rule is refused for a disabled one',
    file: `${S}control/twin-rules.ts`,
    find: 'NOT additive AND enabled AND (place',
    replace: 'NOT additive AND (place',
    test: {
      file: `${ST}control/rules.test.ts`,
      name: "rules in 'postgres' takes a rule whose place only a disabled one has",
    },
  },
  {
    name: 'rules that normalising makes one are stored',
    file: `${S}control/twin-rules.ts`,
    find: ' || normalPlaceOf(resource) === normalPlace\n',
    replace: '\n',
    test: {
      file: `${ST}control/rules.test.ts`,
      name: "rules in 'postgres' refuses a rule that becomes another one by normalising",
    },
  },
  {
    name: 'a document with two rules of one place is valid',
    file: `${L}rules/refuse-twins.ts`,
    find: '    if (twin !== undefined) {\n',
    replace: '    if (twin === rule) {\n',
    test: {
      file: `${L}rules/read-document.test.ts`,
      name: 'a document may have a rule in shadow and a disabled one beside the one in their place',
    },
  },
  {
    name: 'a document with a rule in shadow beside the enforced one is not valid',
    file: `${L}rules/refuse-twins.ts`,
    find: 'patternKey(normalPattern ?? pattern), methods, shadow])',
    replace: 'patternKey(normalPattern ?? pattern), methods, shadow === null])',
    test: {
      file: `${L}rules/read-document.test.ts`,
      name: 'a document may have a rule in shadow and a disabled one beside the one in their place',
    },
  },
  {
    name: 'a document with a disabled rule beside the enabled one is not valid',
    file: `${L}rules/refuse-twins.ts`,
    find: '    if (rule.additive || !rule.enabled || ',
    replace: '    if (rule.additive || ',
    test: {
      file: `${L}rules/read-document.test.ts`,
      name: 'a document may have a rule in shadow and a disabled one beside the one in their place',
    },
  },
]
