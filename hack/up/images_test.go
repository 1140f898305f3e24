package main

import "testing"

func TestEachClusterHasARecordOfItsOwn(t *testing.T) {
	if usual, named := loadedPath(""), loadedPath("edge"); usual != "out/loaded-images.json" || named != "out/loaded-images-edge.json" {
		t.Errorf("%s and %s", usual, named)
	}
}
