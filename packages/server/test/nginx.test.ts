import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort, until } from '../../limiter/test/redis/servers.js'
import { type Answer, ask, startService, type TestService } from './service.js'

const RULES = `
rules:
  api: { scope: ip, resource: /api/*, limits: 2/d fixed }
blocks: [{ user: mallory }]
`

/** As the how-to page has it. */
const config = (port: number, sluice: number, upstream: number, folder: string) => `
daemon off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path ${folder}; proxy_temp_path ${folder}; fastcgi_temp_path ${folder};
  uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
  upstream sluice { server 127.0.0.1:${sluice}; keepalive 8; }
  server {
    listen 127.0.0.1:${port};
    location = /sluice {
      internal;
      proxy_pass http://sluice/v1/auth?deny=403;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host localhost;
      proxy_set_header Content-Length "";
      proxy_pass_request_body off;
      proxy_set_header X-Sluice-Subject "ip=$remote_addr, user=$http_x_user";
      proxy_set_header X-Sluice-Resource $request_uri;
      proxy_set_header X-Sluice-Method $request_method;
    }
    location /api/ {
      auth_request /sluice;
      auth_request_set $limit $upstream_http_x_ratelimit_limit;
      auth_request_set $remaining $upstream_http_x_ratelimit_remaining;
      auth_request_set $retry $upstream_http_retry_after;
      add_header X-RateLimit-Limit $limit always;
      add_header X-RateLimit-Remaining $remaining always;
      add_header Retry-After $retry always;
      error_page 403 =429 /too-many;
      proxy_pass http://127.0.0.1:${upstream};
    }
    location = /too-many {
      internal;
      add_header X-RateLimit-Limit $limit always;
      add_header Retry-After $retry always;
      return 429 "too many requests\\n";
    }
  }
}`

describe('nginx with auth_request', () => {
  let service: TestService
  const folder = mkdtempSync(join(tmpdir(), 'sluice-nginx-'))
  const upstream = createServer((_request, response) => response.end('from the API'))
  let port = 0
  let nginx: ReturnType<typeof spawn>

  const get = (path: string, headers = {}): Promise<Answer> =>
    ask({ host: '127.0.0.1', port, method: 'GET', path, headers }, null)

  beforeAll(async () => {
    service = await startService({ rules: RULES })
    upstream.listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    port = await freePort()
    const address = upstream.address() as { port: number }
    writeFileSync(join(folder, 'nginx.conf'), config(port, service.port, address.port, folder))
    nginx = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' })
    await until('nginx answers', async () => (await get('/')).status === 404)
  })
  afterAll(async () => {
    const gone = once(nginx, 'exit')
    nginx.kill()
    await gone
    upstream.close()
    await service.stop()
    rmSync(folder, { recursive: true })
  })

  it('lets through what is allowed, and refuses the rest with when to come back', async () => {
    for (const remaining of ['1', '0']) {
      const answer = await get('/api/things?page=2')
      expect([answer.status, answer.text]).toEqual([200, 'from the API'])
      expect(answer.headers['x-ratelimit-remaining']).toBe(remaining)
    }
    const no = await get('/api/things?page=2')
    expect([no.status, no.text]).toEqual([429, 'too many requests\n'])
    expect(no.headers['x-ratelimit-limit']).toBe('2')
    expect(Number(no.headers['retry-after'])).toBeGreaterThan(0)
  })

  it('refuses whoever is blocked', async () => {
    expect((await get('/api/things', { 'X-User': 'mallory' })).status).toBe(429)
  })
})
