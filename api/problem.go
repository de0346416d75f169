package api

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"
)

// problem is an error as RFC 9457 shapes it, with one member more: advice says what to do about it.
type problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail,omitempty"`
	Instance  string `json:"instance,omitempty"`
	Advice    string `json:"advice,omitempty"`
	Parameter string `json:"parameter,omitempty"`
}

func (p *problem) Error() string { return p.Title + ": " + p.Detail }

// kind builds the stable name of a kind of problem.
func kind(name string) string { return "urn:laxity:problem:" + name }

func invalid(parameter, detail, advice string) *problem {
	return &problem{
		Type: kind("invalid-parameter"), Title: "Invalid parameter", Status: http.StatusBadRequest,
		Detail: parameter + ": " + detail, Parameter: parameter, Advice: advice,
	}
}

func notFound(detail, advice string) *problem {
	return &problem{Type: kind("not-found"), Title: "Not found", Status: http.StatusNotFound, Detail: detail, Advice: advice}
}

// write answers with the problem and ends the handling of the request.
func (p *problem) write(c *gin.Context) {
	answer := *p
	answer.Instance = c.Request.URL.Path
	body, err := json.Marshal(answer)
	if err != nil { // strings only: cannot happen
		panic(err)
	}
	c.Abort()
	c.Data(p.Status, "application/problem+json", body)
}
