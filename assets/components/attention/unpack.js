"use strict";

/** Deflated whole numbers in base64: what core/attention/views/export.py wrote (little endian, as every browser's machine is). */
async function unpack(text, bits, signed) {
  const characters = atob(text);
  const packed = new Uint8Array(characters.length);
  for (let i = 0; i < characters.length; i++) packed[i] = characters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  if (bits === 16) return signed ? new Int16Array(bytes) : new Uint16Array(bytes);
  return signed ? new Int8Array(bytes) : new Uint8Array(bytes);
}
