module core5g.dev/core5g/images/registration

go 1.26.2

require gopkg.in/yaml.v2 v2.4.0
