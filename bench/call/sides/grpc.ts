// gRPC in JavaScript (@grpc/grpc-js): Protocol Buffers over HTTP/2 on a Unix socket, without TLS.
import { join } from 'node:path'
import {
  type ClientReadableStream,
  credentials,
  type Client as GrpcClient,
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceClientConstructor,
  type sendUnaryData,
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { type Message, message, type Place, type Side } from '../side.ts'

interface BenchClient extends GrpcClient {
  echo(given: Message, done: (error: Error | null, answer: Message) => void): void
  stream(request: { readonly count: number }): ClientReadableStream<Message>
}

function service(): ServiceClientConstructor {
  const loaded = loadPackageDefinition(loadSync(join(import.meta.dirname, 'echo.proto')))
  return (loaded.bench as unknown as { readonly Bench: ServiceClientConstructor }).Bench
}

const address = ({ folder }: Place) => `unix:${join(folder, 'socket')}`

export const grpcUnix: Side = {
  async serve(place) {
    const server = new Server()
    server.addService(service().service, {
      echo: (call: ServerUnaryCall<Message, Message>, done: sendUnaryData<Message>) => done(null, call.request),
      async stream(call: ServerWritableStream<{ readonly count: number }, Message>) {
        for (let seq = 0; seq < call.request.count; seq++) {
          if (!call.write(message(seq))) await new Promise(resolve => call.once('drain', resolve))
        }
        call.end()
      },
    })
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(address(place), ServerCredentials.createInsecure(), error => (error ? reject(error) : resolve()))
    })
  },
  async connect(place) {
    const client = new (service())(address(place), credentials.createInsecure()) as unknown as BenchClient
    return {
      echo: given =>
        new Promise((resolve, reject) => {
          client.echo(given, (error, answer) => (error ? reject(error) : resolve(answer)))
        }),
      stream: (count, take) =>
        new Promise((resolve, reject) => {
          client.stream({ count }).on('data', take).on('end', resolve).on('error', reject)
        }),
    }
  },
}
