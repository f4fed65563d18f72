# SANTA's claim in small: a model that has seen no labelled pair finds functions better when it was pretrained on code
# and its documentation. MiniLM reads EACH functions of each of six languages, of packages under stated licences
# (Python's of this environment, the others Debian's; nothing that is searched is among them), and is searched:
#   packages   SANTA: entities predicted, aligned with masked code        packages-plain   alignment of code as it is
# It needs Debian's apt; elsewhere, unpack packages into folders of runs/santa-unlabelled/unpacked/LANGUAGE.
.PHONY: santa-unlabelled

EACH := 1500
UNLABELLED := packages packages-plain
santa-unlabelled: CODE = runs/$@
santa-unlabelled: $(INSTALLED) ## SANTA without labelled pairs
	$(call needs,codesearch/dev.jsonl.gz)
	@$(MAKE) --no-print-directory santa-pretrained MODEL=minilm CODE='$(CODE)' CODE_SYSTEMS='$(UNLABELLED)' \
	  CODE_SEEDS='$(CODE_SEEDS)' \
	  CODE_TITLE='SANTA without a labelled pair: MiniLM on $(EACH) functions of each of six languages, RR@100' \
	  CODE_COMMAND='make $@ UNLABELLED="$(UNLABELLED)" CODE_SEEDS="$(CODE_SEEDS)"'

DEBIAN_go := $(patsubst %,golang-%-dev,github-spf13-cobra github-spf13-viper github-spf13-afero github-sirupsen-logrus \
  golang-x-net golang-x-text github-miekg-dns github-gorilla-mux github-hashicorp-memberlist github-hashicorp-raft \
  github-pelletier-go-toml github-gomodule-redigo github-jackc-pgx-v4 github-labstack-echo github-minio-minio-go-v7)
DEBIAN_php := $(addprefix php-,doctrine-dbal doctrine-orm monolog twig parser league-flysystem phpseclib sabre-dav \
  ramsey-uuid tcpdf codesniffer zeta-base) phpunit composer
DEBIAN_javascript := $(addprefix node-,express moment async underscore chart.js d3 winston jquery bluebird socket.io \
  mongodb marked yargs uglify-js jsdom ws less knockout vue react) $(addprefix libjs-,three codemirror leaflet)
DEBIAN_ruby := $(addprefix ruby-,sinatra nokogiri addressable mail faraday i18n tzinfo grape rspec-core \
  rspec-expectations redcarpet sidekiq hamster faker concurrent octokit mongo prawn money thor) yard rubocop asciidoctor
# compiled packages, so these are the sources
DEBIAN_java := commons-io ehcache guava-libraries hsqldb httpcomponents-client httpcomponents-core jackson-core \
  jackson-databind jetty9 junit4 libcommons-codec-java netty tomcat9 zookeeper

$(CODE)/unpacked/%:
	@mkdir -p $@.partial
	cd $@.partial && apt-get -qq download $(DEBIAN_$*)
	cd $@.partial && for each in *.deb; do dpkg-deb --extract $$each $${each%%_*}; rm $$each; done
	mv $@.partial $@

SOURCES = -o Dir::Etc::sourceparts="$$PWD/parts" -o Dir::Etc::sourcelist=/dev/null -o Dir::State::lists="$$PWD/lists"
$(CODE)/unpacked/java:
	@mkdir -p $@.partial/parts $@.partial/lists/partial
	sed 's/^Types: deb$$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources > $@.partial/parts/debian.sources
	cd $@.partial && apt-get -qq $(SOURCES) update && apt-get -qq $(SOURCES) source $(DEBIAN_java)
	cd $@.partial && find . -maxdepth 1 -type f -delete && rm -r parts lists
	mv $@.partial $@

# documented functions, of packages whose copyright file states a licence
UNTESTED := --where 'docstring~^(\S+\s+){2}\S' --where 'path!~([Tt]ests?|spec|vendor|examples?)/'
$(CODE)/functions-%.jsonl: $(CODE)/unpacked/%
	for each in $</*; do \
	  license=$$(cat $$each/usr/share/doc/*/copyright $$each/debian/copyright 2> /dev/null \
	    | grep -m 1 '^License: ' || true); \
	  [ -z "$$license" ] || $(STRUCTKIT) collect -q $$each --unit function --no-ignore \
	    | $(STRUCTKIT) select -q --where language=$* $(UNTESTED) --set "license=$${license#License: }"; \
	done > $@

# the first paragraph of the documentation
PARAGRAPH := --strip 'query=(\n\s*\n|\n?\s*[@\\:]\w)[\s\S]*'
# static, or the search in packages-plain@0/ would be of this kind
$(LANGUAGES:%=$(CODE)/packages-%.jsonl): $(CODE)/packages-%.jsonl: \
    $(CODE)/functions-%.jsonl $(CODE)/tested-query.jsonl $(CODE)/tested-positive.jsonl
	$(STRUCTKIT) pair $< --on-error skip | $(STRUCTKIT) select $(PARAGRAPH) \
	  | $(STRUCTKIT) pair --query query --positive positive --dedupe --on-error skip \
	  | $(STRUCTKIT) select --where 'query~(\S+\s+){2}\S' --not-in $(word 2,$^) --on query \
	  | $(STRUCTKIT) select --not-in $(word 3,$^) --on positive \
	  | $(STRUCTKIT) select --sample $(EACH) --fields id,language,license,query,positive -o $@
$(CODE)/functions-python.jsonl: $(CODE)/installed.jsonl
	$(STRUCTKIT) select $< $(UNTESTED) -o $@

$(CODE)/packages.jsonl: $(LANGUAGES:%=$(CODE)/packages-%.jsonl)
	cat $^ | $(STRUCTKIT) mask-entities $(CODE_MASK) --keep-plain --on-error skip -o $@

$(eval $(call code-system,packages,packages,$$(MODEL),--entity-weight $(ENTITY_WEIGHT)))
$(eval $(call code-system,packages-plain,packages,$$(MODEL),$(ALIGN)))
