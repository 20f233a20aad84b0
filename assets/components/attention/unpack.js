"use strict";

/** Base64 as whole numbers: what core/attention/views/packed.py wrote (little endian, as every browser's machine is). */
function unpack(text, bits, signed) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < characters.length; i++) bytes[i] = characters.charCodeAt(i);
  if (bits === 16) return signed ? new Int16Array(bytes.buffer) : new Uint16Array(bytes.buffer);
  return signed ? new Int8Array(bytes.buffer) : bytes;
}
