// Package web holds the built page. `make web` builds it into dist, from where it is compiled into the binary.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files returns the built page rooted at its index.html. It reports false when the binary was built without `make web`;
// the file system then holds one page that says so.
func Files() (fs.FS, bool) {
	return built(dist)
}

func built(embedded fs.FS) (fs.FS, bool) {
	files, err := fs.Sub(embedded, "dist")
	if err == nil {
		if _, err = fs.Stat(files, "index.html"); err == nil {
			return files, true
		}
	}
	missing, err := fs.Sub(notBuilt, "notbuilt")
	if err != nil {
		panic(err) // the directory is part of this package
	}
	return missing, false
}

//go:embed notbuilt
var notBuilt embed.FS
