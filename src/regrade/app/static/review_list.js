// The classes of a review: a key for the next one.

import { onKeys } from "./keys.js";

onKeys({ n: () => document.getElementById("next")?.click() });
