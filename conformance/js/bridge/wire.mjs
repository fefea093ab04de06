// SPDX-License-Identifier: Apache-2.0
//
// What goes between the page and the host: a length, JSON of that length, then bytes. In JSON, what has no counterpart
// there is an object with one key: $bytes [offset, length] in what follows, $handle, $number, $bigint, $undefined.

const LENGTH = 4;

const bytesOf = (item) => (ArrayBuffer.isView(item) ? new Uint8Array(item.buffer, item.byteOffset, item.byteLength)
  : new Uint8Array(item));
const mapMembers = (object, map) => Object.fromEntries(Object.entries(object).map(([key, member]) => [key, map(member)]));
// JSON has no -0 either.
const isPlain = (number) => Number.isFinite(number) && !Object.is(number, -0);

export function encode(value, toHandle) {
  const parts = [];
  let offset = 0;
  const put = (item) => {
    if (item === undefined) return { $undefined: 0 };
    if (typeof item === 'bigint') return { $bigint: String(item) };
    if (typeof item === 'number') return isPlain(item) ? item : { $number: item === 0 ? '-0' : String(item) };
    if (item === null || typeof item !== 'object') return item;
    const handle = toHandle(item);
    if (handle !== undefined) return { $handle: handle };
    if (item instanceof ArrayBuffer || ArrayBuffer.isView(item)) {
      const bytes = bytesOf(item);
      parts.push(bytes);
      offset += bytes.length;
      return { $bytes: [offset - bytes.length, bytes.length] };
    }
    return Array.isArray(item) ? item.map(put) : mapMembers(item, put);
  };
  const json = new TextEncoder().encode(JSON.stringify(put(value)));
  const message = new Uint8Array(LENGTH + json.length + offset);
  new DataView(message.buffer).setUint32(0, json.length, true);
  message.set(json, LENGTH);
  let at = LENGTH + json.length;
  for (const part of parts) {
    message.set(part, at);
    at += part.length;
  }
  return message;
}

export function decode(message, fromHandle) {
  const length = new DataView(message.buffer, message.byteOffset).getUint32(0, true);
  const json = new TextDecoder().decode(message.subarray(LENGTH, LENGTH + length));
  const rest = message.subarray(LENGTH + length);
  const get = (item) => {
    if (item === null || typeof item !== 'object') return item;
    if (Array.isArray(item)) return item.map(get);
    if ('$undefined' in item) return undefined;
    if ('$bigint' in item) return BigInt(item.$bigint);
    if ('$number' in item) return Number(item.$number);
    if ('$handle' in item) return fromHandle(item.$handle);
    if ('$bytes' in item) return rest.slice(item.$bytes[0], item.$bytes[0] + item.$bytes[1]);
    return mapMembers(item, get);
  };
  return get(JSON.parse(json));
}
