package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

// securityHeaders go out with every answer, page and API alike. The page loads nothing from elsewhere.
var securityHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; font-src 'self' data:; " +
		"object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
}

func withSecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range securityHeaders {
			w.Header().Set(name, value)
		}
		next.ServeHTTP(w, r)
	})
}

// checkHost refuses requests that a page of another site sends through the reader's browser: a Host that is a name nobody
// gave us is how DNS rebinding reaches a loopback service, and an Origin other than our own is a foreign page. With a token
// the Host may be any, because a browser does not send the token by itself.
func (s *Server) checkHost(c *gin.Context) {
	if s.config.Token == "" && !s.knownHost(c.Request.Host) {
		(&problem{
			Type: kind("unknown-host"), Title: "Unknown host", Status: http.StatusForbidden,
			Detail: "this service is not known as " + c.Request.Host,
			Advice: "open it by its address or as localhost, or name the host with --allow-host",
		}).write(c)
		return
	}
	origin := c.Request.Header.Get("Origin")
	if origin == "" {
		return
	}
	if u, err := url.Parse(origin); err != nil || u.Host != c.Request.Host {
		(&problem{
			Type: kind("foreign-origin"), Title: "Foreign origin", Status: http.StatusForbidden,
			Detail: "requests of pages from " + origin + " are not answered",
			Advice: "call the API from its own page, the command line or a server",
		}).write(c)
	}
}

// knownHost accepts addresses, localhost and the names the operator allowed.
func (s *Server) knownHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host) != nil ||
		slices.ContainsFunc(s.config.AllowedHosts, func(allowed string) bool { return strings.EqualFold(allowed, host) })
}

// checkToken wants the bearer token, if one is configured. Digests are compared, so that neither time nor length tells.
func (s *Server) checkToken(c *gin.Context) {
	if s.config.Token == "" {
		return
	}
	scheme, token, _ := strings.Cut(c.GetHeader("Authorization"), " ")
	got, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(s.config.Token))
	if strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
		return
	}
	c.Header("WWW-Authenticate", `Bearer realm="laxity"`)
	(&problem{
		Type: kind("token-required"), Title: "Token required", Status: http.StatusUnauthorized,
		Detail: "the access token is missing or wrong",
		Advice: "send Authorization: Bearer with the content of the token file; the command line takes --token-file",
	}).write(c)
}
