// Image turns a recipe, images/<name>/image.yaml, into a container image, out/images/<name>.tar, without
// a container engine or a registry.
//
// An image is one layer over nothing ("scratch"): the files that the recipe names and, where it asks
// for them, the shared libraries they are linked to. The archive is what `docker save` writes, so that
// docker, skopeo, ctr and kind take it. The same inputs give the same bytes: entries are sorted, times
// are zero and owners are what the recipe says. An image whose inputs have not changed is left alone.
package main
