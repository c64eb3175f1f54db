// What every module draws with.
import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);
export { Fragment, render } from "preact";
export { useEffect, useLayoutEffect, useMemo, useRef, useState, useCallback } from "preact/hooks";
export { signal, computed, effect, batch } from "@preact/signals";
