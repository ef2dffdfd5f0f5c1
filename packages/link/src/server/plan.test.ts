import type { NetworkInterfaceInfo } from 'node:os'
import { expect, test } from 'vitest'
import { linkDefaults } from '../limits.ts'
import { planListening, type Surroundings } from './plan.ts'

const v4 = (address: string, internal = false): NetworkInterfaceInfo => ({
  address,
  internal,
  family: 'IPv4',
  netmask: '255.255.255.0',
  mac: '00:00:00:00:00:00',
  cidr: null,
})

const v6 = (address: string): NetworkInterfaceInfo => ({
  address,
  internal: false,
  family: 'IPv6',
  netmask: 'ffff:ffff:ffff:ffff::',
  mac: '00:00:00:00:00:00',
  cidr: null,
  scopeid: 0,
})

const tcpOf = (...plan: Parameters<typeof planListening>) => planListening(...plan).tcp

const alone: Surroundings = { environment: {}, interfaces: { lo: [v4('127.0.0.1', true)] }, inDocker: false }
const inNetwork = (interfaces: Surroundings['interfaces']): Surroundings => ({ ...alone, interfaces })

test('ALP-TCP-01 the default profile listens on 7423 where it has an address to be reached at', () => {
  expect(linkDefaults.tcpPort).toBe(7423)
  const lan = inNetwork({ lo: [v4('127.0.0.1', true)], eth0: [v4('192.168.1.5')] })
  expect(planListening('default', {}, lan)).toEqual({ unix: true, tcp: { host: '192.168.1.5', port: 7423 } })
  const named = { unix: true, tcp: { host: 'nas.internal', port: 7423 } }
  expect(planListening('default', { host: 'nas.internal' }, alone)).toEqual(named)
  const own = { host: '10.0.0.1', port: 9000 }
  expect(tcpOf('default', { host: own.host, tcpPort: own.port }, lan)).toMatchObject(own)
  expect(tcpOf('default', {}, { ...alone, inDocker: true })).toEqual({ host: '0.0.0.0', port: 7423 })
})

test('ALP-TCP-01 beside what was written down stands the address that the machine has, in a container all of them', () => {
  const lan = inNetwork({ eth0: [v4('192.168.1.5')] })
  const host = 'nas.example'
  expect(planListening('default', { host }, lan).tcp).toEqual({ host, port: 7423, fallback: '192.168.1.5' })
  expect(planListening('default', { host }, { ...lan, inDocker: true }).tcp?.fallback).toBe('0.0.0.0')
  expect(tcpOf('default', { host: '192.168.1.5' }, lan)).toEqual({ host: '192.168.1.5', port: 7423 })
})

test('ALP-TCP-01 an overlay or a local network of IPv6 is found too; an address of one link is none', () => {
  const found = (interfaces: Surroundings['interfaces']) =>
    planListening('default', {}, inNetwork(interfaces)).tcp?.host
  expect(found({ eth0: [v6('fe80::1'), v6('fd12:3456::7')] })).toBe('fd12:3456::7')
  expect(found({ eth0: [v6('fd12:3456::7'), v4('192.168.1.5')] })).toBe('192.168.1.5')
  expect(found({ eth0: [v4('192.168.1.5')], wg0: [v6('fe80::2'), v6('fd00::9')] })).toBe('fd00::9')
  // The whole world, a bridge of containers, one link alone.
  expect(found({ eth0: [v6('2001:db8::1'), v6('fe80::1')], docker0: [v6('fd00::1')] })).toBeUndefined()
})

test('ALP-TCP-01 without such an address it stays on the Unix socket', () => {
  expect(planListening('default', {}, alone)).toEqual({ unix: true })
  // The whole world, or a bridge between containers: neither is taken by itself.
  const far = inNetwork({ eth0: [v4('8.8.8.8')], docker0: [v4('172.17.0.1')] })
  expect(planListening('default', {}, far)).toEqual({ unix: true })
})

test('ALP-TCP-01 an overlay is preferred to the local network', () => {
  const hostIn = (interfaces: Surroundings['interfaces']) => tcpOf('default', {}, inNetwork(interfaces))?.host
  expect(hostIn({ eth0: [v4('192.168.1.5')], tailscale0: [v4('100.101.1.2')] })).toBe('100.101.1.2')
  expect(hostIn({ eth0: [v4('10.1.1.1')], wg0: [v4('10.9.9.9')] })).toBe('10.9.9.9')
  expect(hostIn({ eth0: [v4('172.20.0.4')] })).toBe('172.20.0.4')
})

test('ALP-TCP-01 other profiles listen only on a port of their own', () => {
  const lan = inNetwork({ eth0: [v4('192.168.1.5')] })
  expect(planListening('work', {}, lan)).toEqual({ unix: true })
  expect(planListening('work', { host: '10.0.0.1' }, lan)).toEqual({ unix: true })
  expect(tcpOf('work', { tcpPort: 7500 }, lan)).toEqual({ host: '192.168.1.5', port: 7500 })
})

test('ALP-TCP-01 with the service off there is nothing at all', () => {
  const lan = inNetwork({ eth0: [v4('192.168.1.5')] })
  expect(planListening('default', { service: false, host: 'x', tcpPort: 1 }, lan)).toEqual({ unix: false })
})

test('ALP-TCP-01 the environment overrides host and port', () => {
  const environment = { ALPI_NETWORK_HOST: '10.1.2.3', ALPI_ALP_TCP_PORT: '8123' }
  const tcp = (environment: Surroundings['environment']) =>
    tcpOf('default', { host: 'x', tcpPort: 1 }, { ...alone, environment })
  expect(tcp(environment)).toEqual({ host: '10.1.2.3', port: 8123 })
  for (const port of ['', '0', '70000', 'x', '-1']) expect(tcp({ ALPI_ALP_TCP_PORT: port })?.port).toBe(1)
})
