// The build lays Netron's own modules beside frame.js.
declare module "*/base.js" {
  export class BinaryStream {
    constructor(bytes: Uint8Array);
  }
}
declare module "*/view.js" {
  export class View {
    constructor(host: object);
    start(): Promise<void>;
  }
}
