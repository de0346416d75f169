package web

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFilesWithoutBuildSayHowToBuild(t *testing.T) {
	files, ok := built(fstest.MapFS{"dist/.gitkeep": {}})
	if ok {
		t.Fatal("an empty dist counts as built")
	}
	page, err := fs.ReadFile(files, "index.html")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "make web") {
		t.Errorf("page does not name the command that builds it:\n%s", page)
	}
}

func TestFilesServeTheBuiltPage(t *testing.T) {
	files, ok := built(fstest.MapFS{"dist/index.html": {Data: []byte("built")}})
	if !ok {
		t.Fatal("a built dist does not count as built")
	}
	page, err := fs.ReadFile(files, "index.html")
	if err != nil || string(page) != "built" {
		t.Errorf("index.html = %q, %v", page, err)
	}
}
