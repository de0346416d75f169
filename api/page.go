package api

import (
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"
)

// page serves the built files of the page. A path that is no file is a view of the page, which index.html draws; below /api
// it is an error.
func (s *Server) page(c *gin.Context) {
	name := strings.TrimPrefix(path.Clean(c.Request.URL.Path), "/")
	if s.config.Web == nil || name == "api" || strings.HasPrefix(name, "api/") {
		notFound("there is nothing at "+c.Request.URL.Path, "see /api/v1/openapi.yaml for what is").write(c)
		return
	}
	if c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead {
		notFound(c.Request.Method+" is not possible here", "see /api/v1/openapi.yaml for what is").write(c)
		return
	}
	info, err := fs.Stat(s.config.Web, name)
	switch {
	case err == nil && !info.IsDir() && name != "index.html":
		// Names below assets hold a digest of the content.
		if strings.HasPrefix(name, "assets/") {
			c.Header("Cache-Control", "public, max-age=31536000, immutable")
		} else {
			c.Header("Cache-Control", "no-cache")
		}
		http.ServeFileFS(c.Writer, c.Request, s.config.Web, name)
	case strings.HasPrefix(name, "assets/"):
		// A page of an older build asks for a file that is gone: an error makes it load itself anew, HTML would not.
		notFound("there is no file "+name, "reload the page").write(c)
	default:
		s.index(c)
	}
}

func (s *Server) index(c *gin.Context) {
	index, err := fs.ReadFile(s.config.Web, "index.html")
	if err != nil {
		(&problem{
			Type: kind("no-page"), Title: "The page is not built", Status: http.StatusNotFound,
			Detail: "this binary was built without the page; the API works", Advice: "build with make build",
		}).write(c)
		return
	}
	c.Header("Cache-Control", "no-cache")
	c.Data(http.StatusOK, "text/html; charset=utf-8", index)
}
