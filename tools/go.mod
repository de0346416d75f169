module github.com/laxity-dev/laxity/tools

go 1.26.0
