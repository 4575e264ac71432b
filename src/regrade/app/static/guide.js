// Guide: find a class by search or in the tree, and open its page.

import { ClassSearch } from "./class_search.js";
import { ClassTree } from "./class_tree.js";
import { loadClasses } from "./classes.js";
import { guideAddress } from "./guide_block.js";
import { onKeys } from "./keys.js";
import { explain, notice } from "./sending.js";

const by = (id) => document.getElementById(id);
const { space } = by("guide").dataset;
const field = by("search");

try {
  const classes = await loadClasses(space);
  const open = ({ id }) => location.assign(guideAddress(space, id));
  const search = new ClassSearch(field, by("results"), classes, { picked: open });
  search.escaped = () => search.clear();
  field.disabled = false; // keys typed before the classes are loaded would be lost
  new ClassTree(by("tree"), classes, open);
  onKeys({ "/": () => field.focus() });
} catch (error) {
  notice(`The classes cannot be loaded. ${explain(error)} Reload the page.`);
}
