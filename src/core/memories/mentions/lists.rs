//! Word lists of the name rules: given names, places and organizations, which are names anywhere, and words that are no
//! names although they are capitalized. All folded. Any other word is judged by its spelling alone.

use std::collections::HashSet;
use std::sync::LazyLock;

type WordSet = LazyLock<HashSet<&'static str>>;

macro_rules! words {
    ($text:literal) => {
        LazyLock::new(|| $text.split_whitespace().collect())
    };
}

/// Precede a name, and are not part of it.
pub static TITLES: WordSet = words!(
    "mr mrs ms miss mx dr prof professor doctor sir madam lady lord herr frau fraulein dipl ing mag monsieur madame
     mademoiselle mme mlle m senor senora senorita sr sra srta don dona dottore signor signora rev father sister
     captain capt major general sergeant sgt president king queen prince princess uncle aunt onkel tante oma opa
     grandma grandpa tio tia oncle familie family
     familia famille abuela abuelo mamie papi"
);

/// Follow an organization's name, and are not part of it.
pub static LEGAL_FORMS: WordSet = words!(
    "gmbh ag kg ohg ug ev se inc incorporated ltd limited llc llp plc corp corporation co company sa sas sarl srl spa
     sl nv bv ab as asa oy oyj aps pty kk"
);

/// A name with one of these words is an organization.
pub static ORGANIZATION_WORDS: WordSet = words!(
    "university universitat universite universidad college institute institut instituto school hochschule bank
     hospital klinikum krankenhaus clinic ministry ministerium foundation stiftung fundacion fondation association
     verein labs laboratories laboratory group holding holdings partners ventures capital industries systems
     technologies consulting solutions museum church council club fc united orchestra theatre theater airlines
     airways motors press verlag times post records studios agency committee department university's academy
     akademie werke stadtwerke versicherung insurance telecom pharma bakery brauerei brewery
     hopital clinica clinique instituts ayuntamiento asociacion colegio escuela ecole lycee banque banco gymnasium"
);

pub static ORGANIZATIONS: WordSet = words!(
    "google microsoft apple amazon facebook netflix openai anthropic nvidia intel amd ibm sap siemens bosch bmw
     volkswagen audi porsche daimler mercedes tesla toyota honda sony samsung huawei nokia ericsson spotify uber
     airbnb stripe paypal oracle cisco adobe salesforce twitter linkedin mozilla nasa esa cern nato unesco who un
     eu bbc cnn nyt ikea nike adidas puma lufthansa ryanair easyjet airbus boeing bayer basf roche novartis nestle
     unilever danone renault peugeot citroen michelin orange telefonica santander bbva repsol inditex zara mit eth
     tum rwth harvard stanford oxford cambridge yale princeton greenpeace unicef interpol europol fifa uefa deutsche
     telekom allianz aldi lidl rewe edeka dm otto zalando sncf edf totalenergies carrefour vodafone mistral
     deepmind meta grafana nextcloud thunderbird firefox chromium
     github gitlab bitbucket jira confluence slack trello notion figma obsidian dropbox whatsapp telegram instagram youtube
     tiktok reddit wikipedia ubuntu debian fedora linux macos android arduino gmail outlook
     skype threema paypal klarna revolut wise ebay etsy leboncoin wallapop vinted blablacar
     iberia vueling renfe ouigo thalys eurostar vinci decathlon fnac auchan monoprix leclerc mercadona
     nutella milka haribo kindle playstation xbox nintendo"
);

pub static PROJECT_WORDS: WordSet =
    words!("project projekt projet proyecto progetto project's operation");

pub static GIVEN_NAMES: WordSet = words!(
    "aaron abby abdul abigail adam adele adrian adriana agnes ahmad ahmed aiden aisha akira alan albert alberto
     alejandra alejandro aleksandra alena alessandro alex alexa alexander alexandra alexandre alexei alexis alfred
     ali alice alicia alina alison allison alma alvaro amanda amber amelia amelie amina amir amy ana anastasia anders
     andre andrea andreas andres andrew andy angela angelina anika anita anja anke ann anna annabel anne annette annika
     anouk anthony antje antoine anton antonia antonio anya arjun arthur arturo astrid aurelie ava axel ayse barbara
     bastian beate beatrice beatriz ben benedikt benjamin benoit bernard bernd bert bettina bianca bill birgit bjorn bob
     boris brandon brenda brian brigitte bruce bruno caleb calvin camila camille carl carla carlo carlos carmen carol
     carolin carolina caroline carsten catherine cathy cecilia celine chantal charles charlie charlotte chen chiara chloe
     chris christa christian christiane christina christine christoph christopher cindy claire clara claudia claus
     clemens clement colin connor conrad cornelia craig cristina daisuke dan dana daniel daniela daniele danielle danny
     dario darya dave david deborah debbie delphine denis denise dennis derek detlef diana diane diego dieter dietmar
     dimitri dirk dmitri dmitry dolores dominic dominik donald donna dora doris dorothea douglas dylan eberhard edith eduardo
     edward elaine elena eleanor elias elif elisa elisabeth elise elizabeth ella ellen elsa emil emilia emily emir emma
     emmanuel enrique eric erica erich erik erika ernst esra esteban esther ethan eugen eva evan evelyn ewa fabian fabio
     fabienne farah fatima fatma felicia felicitas felipe felix ferdinand fernando fiona flora florence florian frances
     francesca francesco francis francisco francois frank franz franziska fred frederic frederik friedrich gabriel
     gabriela gabriele gail gary gavin george georg georges gerald gerard gerhard gertrud gianni gilles gina giovanni
     gisela giulia giuseppe gloria gonzalo grace graham greg gregor gregory greta guido guillaume gunther gustav guy hamza
     hanna hannah hannes hans harald harry hasan hassan heather hector heidi heike heiko heinrich heinz helen helena
     helene helga helmut henri henriette henrik henry herbert hermann hilde hiroshi holger horst hubert hugo hussein ian
     ibrahim ida ignacio igor ilse ines inga inge ingrid irena irene iris irina isaac isabel isabella isabelle ivan
     jack jacob jacqueline jacques jakob jamal james jamie jan jana jane janet janina jason javier jean jeff jennifer
     jens jeremy jerome jesse jessica jesus jim jimmy joachim joan joanna joao joaquin jochen joel johan johann johanna
     johannes john johnny jon jonas jonathan jordan jordi jorg jorge jose josef joseph josh joshua joy joyce juan juana judith
     jules julia julian juliana julie julien juliette julio jurgen justin jutta kai kamil karen karim karin karina karl
     karla karsten katarina kate katharina katherine kathleen kathrin katie katja katrin kazuo keith kelly kemal ken
     kenji kenneth kerstin kevin khaled kim kirsten klara klaus konrad konstantin kristin kristina kurt kyle lara larry
     lars laura laure laurent lauren lea leah leila lena leni leo leon leonard leonardo leonie lena leticia levi liam
     lila lilian liliana lily linda lisa liv logan lola lorena lorenzo louis louisa louise luca lucas lucia lucie lucy
     ludwig luis luisa luise lukas luke lydia lynn madeleine magdalena maja malte manfred manuel manuela marc marcel
     marcela marcelo marco marcus margaret margarita margarete maria mariam marian mariana marianne marie marina mario
     marion marisa marissa marius mark marko markus marlene marta martha martin martina marvin mary maryam mateo mathias
     mathieu mathilde matt matteo matthew matthias maurice mauricio max maxim maxime maximilian maya megan mehmet mei
     melanie melissa mercedes mia michael michaela michel michele michelle miguel mika mike mikhail mila milan milena
     miranda miriam mohamed mohammad mohammed molly monica monika monique moritz murat mustafa nadia nadine nadja
     nancy naomi natalia natalie natasha nathalie nathan neil nelson nicholas nick nico nicola nicolas nicole niels nikita
     nikolai nils nina noah noemi nora norbert norman nuria octavio ola olaf oleg olga oliver olivia olivier omar oscar
     oskar otto owen pablo paloma pamela pascal patrice patricia patrick patrizia paul paula paulina pauline paulo
     pedro peggy penelope peter petra phil philip philipp philippe phoebe pia pierre pilar priya rachel rafael rainer
     raj rajesh ralf ralph ramon raquel raul ravi raymond rebecca regina reinhard remi renate rene ricardo richard rick
     rita rob robert roberta roberto robin rocio rodrigo roger roland rolf roman romain ron ronald rosa rosario rose
     roxana ruben rudolf ruth ryan sabine sabrina sally salma salvador sam samantha samir samuel sandra sara sarah
     sascha saskia scott sean sebastian selim selma serena serge sergei sergey sergio shannon sharon sheila shirin sibylle
     sigrid silke silvia simon simone sofia sofie sonia sonja sophia sophie stacy stefan stefanie steffen stella
     stephan stephanie stephen sten steve steven stuart sue susan susana susann susanne svetlana sven svenja sylvia sylvie takeshi
     tamara tanja tania tara tatiana ted teresa teresia theo theodor theresa thierry thomas thorsten tiago tim timo timothy tina tobias
     todd tom tomas tony torsten tracy tristan udo ulf uli ulrich ulrike ursula ute uwe valentin valentina valeria
     valerie vanessa vera verena veronica veronika victor victoria viktor viktoria vincent viola violeta virginia
     vivian vladimir volker walter waltraud wei wendy werner wilhelm will william willy wolfgang xavier ximena yan
     yannick yasmin yolanda yuki yuri yusuf yves yvonne zachary zeynep zoe zoya caroline melanie gina jon
     lieselotte liselotte gudrun nele luigi baran hedwig iker honore hugo august annelie wiebke jule
     jette finn fynn jannik lasse thorben ole hauke henning arne bjarne kjell sonke malin merle fenja frieda frida emmi
     mathilda matilda wilma elfriede edeltraud hannelore roswitha irmgard hildegard lieselotte margot rosemarie annemarie
     ottilie kunigunde burkhard eckhard gerd gotz heribert hartmut heinrike ingo jorn lothar ludger meinhard reiner rudiger siegfried
     sigmund theodor traugott volkmar wendelin wolfram zita alois sepp vroni resi xaver korbinian quirin ferenc zoltan laszlo
     istvan gabor attila ildiko zsuzsa marek tomasz piotr pawel grzegorz krzysztof wojciech malgorzata agnieszka katarzyna
     zofia jadwiga halina bozena dorota beata ondrej vojtech zdenek jiri vaclav milos jaroslav bohumil zuzana lenka tereza
     ivana dragan zoran goran milos jelena dusan vesna snezana nenad bojan tihomir ante ivo jure luka matej anze
     ines inês rui tiago duarte goncalo afonso beatriz leonor matilde mafalda margarida vasco nuno catarina
     lucia macarena rocio nerea ainhoa leire unai aitor gorka maialen amaia itziar iker jokin xabi candela valeria
     jimena renata abril fabiola graciela hortensia rigoberto esperanza consuelo encarnacion asuncion
     bartolome celestino domingo evaristo fermin genaro hilario isidro jacinto lazaro nazario olegario
     gaston solene maelys oceane manon lilou romane clemence capucine hortense apolline eloise heloise violette
     corentin yann gwenael erwan loic ronan tanguy baptiste augustin gauthier thibault quentin bastien florent
     adele anais coralie elodie lucile margaux marguerite blandine josephine leonie ludivine mireille odile
     solange yvette giselle ghislaine raymonde lucienne huguette colette josette bernadette
     emre burak mert cem deniz ozan selin ebru gizem merve busra melis derya sibel gulsen nilufer
     ahmet osman huseyin yildiz cansu tugba kaan onur volkan serkan hakan erdem
     omar yousef youssef mahmoud mostafa khalid tariq bilal zaid layla leyla noor nour huda amal rania dalia
     hana yara salim nasser faisal sultan abdullah abdulrahman zainab khadija mona dina
     anjali deepak sanjay vijay rohit rahul amit neha pooja kavita sunita lakshmi arun suresh ramesh mahesh
     aarav vivek nikhil ananya divya shreya isha tanvi rohan kiran
     haruto sakura yui aoi hinata kenta yuto naoki satoshi akiko yoko keiko michiko noriko
     jiho minjun seojun jisoo jimin hyun soojin wei ling xiao mei jun hao
     chloe bram daan sem lotte femke sanne maartje joost wouter pieter jeroen thijs
     ingeborg solveig sigurd torbjorn gunnar leif knut haakon aksel eskil ragnhild liv marit kari
     elin linnea tuva ebba maja saga agneta gunilla ulla bengt goran stig lennart
     aino helmi onni eero juha pekka matti seppo tuula paivi
     declan niamh siobhan aoife ciaran saoirse maeve eoin conor orla
     cedric ernesto hamish ewan callum isla rory moira fergus
     wade chase brooke paige blake drew logan parker hunter taylor jordan morgan reese quinn riley avery
     lilly amelie tarek fatima noemie gaelle willem rashid ximena valentina gonzalo giulia mika ayse priya meera joaquin ignacio maelle"
);

pub static COUNTRIES: WordSet = words!(
    "germany deutschland allemagne alemania austria osterreich autriche switzerland schweiz suisse suiza france
     frankreich francia spain spanien espagne espana italy italien italie italia portugal england scotland wales ireland
     irland irlanda britain grossbritannien uk usa us america amerika canada kanada mexico mexiko mexique brazil
     brasilien brasil argentina argentinien chile peru colombia kolumbien cuba kuba norway norwegen sweden schweden
     suecia denmark danemark finland finnland finlandia iceland island poland polen pologne polonia czechia tschechien
     slovakia hungary ungarn romania rumanien bulgaria bulgarien greece griechenland grece grecia turkey turkei
     russia russland russie rusia ukraine ucrania belgium belgien belgique belgica netherlands niederlande holland
     luxembourg luxemburg croatia kroatien serbia serbien slovenia slowenien estonia latvia lithuania china india
     indien inde japan japon korea vietnam thailand indonesia malaysia singapore philippines australia australien
     egypt agypten morocco marokko marruecos maroc tunisia algeria nigeria kenya kenia israel iran iraq jordan lebanon
     syria pakistan bangladesh nepal europe europa asia asien africa afrika germania svizzera alemanha suica franca
     duitsland oostenrijk zwitserland frankrijk spanje belgie nederland austrii niemczech polsce francji wloszech"
);

pub static PLACES: WordSet = words!(
    "berlin hamburg munich munchen cologne koln
     frankfurt stuttgart dusseldorf dortmund  leipzig dresden hannover hanover nuremberg nurnberg bremen bonn
     mannheim karlsruhe augsburg wiesbaden freiburg heidelberg potsdam rostock kiel lubeck erfurt mainz kassel aachen
     regensburg wurzburg ulm jena weimar tubingen konstanz gottingen munster bielefeld bochum vienna wien graz salzburg
     innsbruck linz zurich geneva genf geneve basel bern lausanne luzern lucerne paris lyon marseille toulouse nice
     nantes strasbourg strassburg bordeaux lille rennes grenoble montpellier reims brest madrid barcelona valencia
     sevilla seville bilbao malaga zaragoza granada salamanca rome rom roma milan mailand milano naples napoli turin
     florence venice venedig bologna genoa lisbon lissabon lisboa porto london londres manchester liverpool birmingham
     leeds bristol edinburgh glasgow cardiff belfast dublin cork oslo bergen trondheim stavanger tromso stockholm
     gothenburg malmo uppsala copenhagen kopenhagen aarhus helsinki tampere turku reykjavik warsaw warschau krakow gdansk
     wroclaw poznan prague prag praha brno budapest bucharest sofia athens athen thessaloniki istanbul ankara izmir moscow
     moskau kiev kyiv lviv odessa brussels brussel bruxelles antwerp antwerpen ghent gent amsterdam rotterdam utrecht
     eindhoven riga tallinn vilnius zagreb belgrade ljubljana boston chicago seattle portland denver austin dallas houston
     miami atlanta philadelphia detroit phoenix brooklyn manhattan california texas florida oregon washington colorado
     arizona nevada utah ohio michigan illinois massachusetts virginia georgia hawaii alaska toronto montreal vancouver
     ottawa quebec tokyo kyoto osaka beijing shanghai shenzhen seoul busan bangkok hanoi mumbai delhi bangalore chennai
     kolkata hyderabad jakarta manila sydney melbourne brisbane perth auckland wellington cairo kairo nairobi lagos
     casablanca marrakesch marrakesh tunis dubai doha tehran teheran baghdad beirut jerusalem haifa damascus lima bogota
     medellin santiago havana havanna caracas quito montevideo bavaria bayern saxony sachsen hessen tyrol tirol
     provence bretagne brittany normandie normandy tuscany toskana sicily sizilien catalonia katalonien cataluna
     andalusia andalusien andalucia mallorca ibiza tenerife teneriffa scandinavia skandinavien alps alpen"
);

/// Places of several words, folded and joined.
pub static LONG_PLACES: WordSet = words!(
    "newyork newyorkcity losangeles sanfrancisco sandiego sanjose newzealand southkorea northkorea southafrica
     saudiarabia unitedstates unitedkingdom unitedarabemirates costarica puertorico buenosaires riodejaneiro saopaulo
     mexicocity capetown hongkong telaviv newdelhi frankfurtammain saintpetersburg stpetersburg lasvegas neworleans
     newjersey northcarolina southcarolina santafe santamonica siliconvalley thehague denhaag lapaz elsalvador
     srilanka northsea nordsee ostsee blackforest schwarzwald lakedistrict
     ciudaddemexico sansebastian santiagodecompostela badischl sanktpolten badgastein badaussee bonnevalsurarc chalonsursaone
     lehavre lahabana lareunion larochelle lemans laspalmas laplata elcairo panamacity guatemalacity kualalumpur abudhabi hochiminhcity blacksea redsea baltictates palermo saintmalo alcaladehenares"
);

/// Capitalized in English, French or Spanish, or often first in a sentence, but not names.
pub static COMMON: WordSet = words!(
    "i i'm i'd i'll i've a an the this that these those it it's its he she we you they him her his my our your their me us them
     there here what when where who whom whose why how which if and or but so because since until while though although as at by
     for from in into of off on onto out over to under up with without within about above after again against all also always am
     any anyone anything are aren't be been before being below between both can can't cannot could couldn't did didn't do does
     doesn't doing don't done down during each either else enough even ever every everyone everything except few finally first
     second third following get gets getting give gives go goes going gone good great had has hasn't have haven't having hello hey
     hi hola however just keep last lately later least less let let's like likely likes little long lots made make makes many may
     maybe might more most mostly much must near need needs neither never new next no nobody none nor not note notes nothing now
     often oh ok okay old once one only other others otherwise ought own part per perhaps please plus possibly probably put rather
     really recently remember remind right same say says see seems several shall should shouldn't some somebody someone something
     sometimes soon sorry still such sure take takes tell thank thanks then therefore thing things think three through thus
     today together tomorrow tonight too try turn two unfortunately unless unlike unrelated upon use used user users uses using usually very via
     wait want wants was wasn't we'd we'll we're we've well were weren't whatever whenever wherever whether will wish won't
     wondering works would wouldn't wow yeah yep yes yesterday yet you'd you'll you're you've welcome
     monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
     january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept
     oct nov dec mon tue wed thu fri sat sun spring summer autumn fall winter christmas easter halloween thanksgiving
     english german french spanish italian portuguese dutch russian polish chinese japanese korean arabic turkish greek swedish
     norwegian danish finnish latin hebrew hindi european american british canadian australian african asian indian irish scottish
     mexican brazilian austrian swiss belgian ukrainian czech hungarian persian catholic christian muslim jewish buddhist
     internet web god lord mom dad mum mama papa daddy mommy grandma grandpa team boss sir madam
     add adds added ask asks asked assistant avoid book books bring bug bugs build buy call calls called cancel change check
     checked choose clean click close come comes compare complete confirm connect contact continue copy create created cut daily
     decided decision delete deploy deploys describe discuss discussed don't download draft drink drinks drive drop eat eats edit email
     emails enjoys ensure error errors every example explain favorite favourite feature feels fetch file files fill find finish fix fixed follow
     food forget found friend friends goal goals got grew hate hates having heard help hold home hopes house idea ideas important
     install invite is isn't issue issues join joined keep knows learn learned learning left list lists lived lives living load log
     look looking loves love lunch dinner breakfast  meet meeting meetings met migrate monthly morning move moved moving name
     names notice one open order owns paid pay pick plan planned planning plans play plays prefer preference preferences
     prefers prepare   question questions quick rank read reading ready refactor release remove rename reply report
     request requires reset restart results return returns review run running runs saw schedule search send server set setup share
     shipped should show sign simple sleep sold speaks spent start started starts status stop store study studied studies subject
     summary support talk talked task tasks test tests text that's title told topic travel traveled travelled update updated upgrade
     visit visited wake walk warning watch watched weekly went what's who's work worked working write writes wrote
     year years yearly born both bought broke came canceled caught chose early end far final flew forgot full happy half high
     huge it'll key large late leave light low married medium middle missing mine nice obviously occasionally overall past
     perfect planning poor possible previously pretty private public quite rarely real sad saving short sick similar small
     special specifically sure terrible thought tried twice unable warm weird whole wonderful worst wrong cold hot dark
     vegan vegetarian allergic birthday doctor dentist dog cat cats dogs coffee tea water wine beer bike car train bus plane
     le la les un une des du de et est ce cette ces il elle on nous vous ils elles je tu mon ma mes son sa ses notre votre leur
     dans pour avec sans sur sous chez entre vers par mais donc car puis alors aussi tres bien oui non merci bonjour bonsoir salut
     aujourd'hui hier demain quand comment pourquoi ou qui que quoi quel quelle apres avant depuis pendant hier lundi mardi
     mercredi jeudi vendredi samedi dimanche janvier fevrier mars avril mai juin juillet aout septembre octobre novembre
     decembre chaque tout toute tous toutes autre ceci cela c'est j'ai j'aime l'utilisateur l'utilisatrice qu'il n'oublie
     note rappel attention reunion rendez-vous appeler acheter penser prefere habite travaille parle elle
     el los las una unos unas lo al del y o pero porque como cuando donde quien cual esto esta este estos estas eso ese esa
     ella ellos ellas nosotros yo usted ustedes mi mis su sus nuestro con sin sobre entre hasta desde hacia para por segun muy
     bien si tambien ya hoy ayer manana siempre nunca ahora despues antes gracias buenos buenas dias tardes noches adios
     lunes martes miercoles jueves viernes sabado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre
     noviembre diciembre cada todo toda todos todas otro otra hay tiene vive trabaja prefiere habla quiere necesita recuerda
     reunion llamar comprar nota usuario usuaria le gusta vale perdon
     der die das den dem ein eine einen einem einer kein keine ich du er sie es wir ihr ihnen mein meine dein deine sein seine
     ihre ihren unser unsere euer und oder aber denn weil dass wenn als ob wie was wer wen wem wo wann warum wieso welche welcher
     nicht auch noch schon nur sehr hier dort da dann jetzt heute gestern morgen bald immer nie oft manchmal bitte danke hallo
     guten tag ja nein vielleicht am an auf aus bei bis durch fur gegen hinter im in ins mit nach neben ohne seit uber um unter
     vom von vor wahrend wegen zu zum zur zwischen alle alles andere beide diese dieser dieses einige etwas jede jeder jedes
     man mehr viele wenig hat haben habe hatte ist sind war waren wird werden wurde kann kannst konnen muss mussen soll sollte
     will wollen mag mochte lass lassen nachste nachsten letzte letzten letztes erst erste montag dienstag mittwoch donnerstag
     freitag samstag sonntag montags dienstags mittwochs donnerstags freitags samstags sonntags januar februar marz mai juni juli
     oktober dezember deutsch englisch franzosisch spanisch deutsche deutscher englische
     flight room chapter page building floor gate platform section figure table level season episode unit apartment invoice ticket case
     step version number line week month hour minute flat track exit seat phase round sprint milestone heading turkey
     firma empresa societe entreprise calle avenida rue ville ciudad stadt barrio quartier agence agencia
     hinweis notiz achtung wichtig merke frage antwort betreff termin aufgabe nota aviso importante recordatorio remarque"
);

/// Identify a text as German, where common nouns are capitalized too. None is a word of English, French or Spanish.
pub static GERMAN: WordSet = words!(
    "der das dem und ist nicht ein eine einen einem einer ich wir mit fur auf von zu im zum zur vom den sich auch
     hat wird sind bei nach uber ihr mein meine meinen sein seine seiner ihre ihren habe haben kann muss werden wurde aus
     noch nur schon sehr wenn weil dass oder aber seit heute gestern morgen bitte immer kein keine unser unsere arbeitet wohnt
     lebt mag spricht trinkt isst uns mir mich dich es sie er bis unter beim ins geht gibt war als wie
     und die schreibt meint sagt sagte unser herr frau nach jedem mehr jetzt wieder dann doch hier wo was wer"
);

/// Common upper-case abbreviations that are not names.
pub static ACRONYMS: WordSet = words!(
    "ok okay todo fyi asap faq api apis url urls uri uuid id ids http https html css json xml yaml toml csv pdf png jpg jpeg
     gif svg sql cpu gpu ram ssd hdd usb lan vpn dns ip tcp udp tls ssl ssh ftp ui ux cli gui ide sdk os vm ci cd pr prs mr
     qa hr it ai ml llm llms nlp ner rag crud rest rpc grpc mcp jwt oauth sso saas b2b b2c kpi okr roi eta eod eob tbd tba
     n/a na am pm utc gmt cet cest est pst edt pdt tv dj cv phd msc bsc ba ma mba md ceo cto cfo coo vp diy lol omg wtf imho imo
     btw brb ps pps re fw fwd nb vs etc xl xxl aka dob dna hiv adhd ptsd usd eur gbp chf km kg mb gb tb kb ms hz khz mhz ghz
     warning error info debug trace note fixme xxx hack bug wip rip bmi gdpr dsgvo mwst bahn lkw pkw edv wlan wc ng wm em uhr zb dh ua usw"
);

/// May stand between the words of a name.
pub static PARTICLES: WordSet = words!(
    "van von vom zu zur der den de del della dello di da do dos das du des la le les ter ten bin ibn al of am an im upon sur"
);

/// Identify a text as French, where "M." is a title.
pub static FRENCH: WordSet = words!(
    "est et le les des une du au aux chez dans pour avec mon son ses par selon il elle qui que sur ne pas s'appelle l'agent"
);

/// Titles by which two people of the same name are told apart.
pub static OF_MEN: WordSet = words!(
    "mr herr monsieur senor sr don sir lord signor king prince uncle onkel opa grandpa tio oncle"
);
pub static OF_WOMEN: WordSet = words!(
    "mrs ms miss frau fraulein madame mademoiselle mme mlle senora senorita sra srta dona lady signora queen princess aunt tante oma grandma tia"
);

/// Given names that are also words with which a sentence begins.
pub static AMBIGUOUS: WordSet = words!(
    "may april june august mark rose will summer grace hope frank bill sue pat jack chase drew grant art dawn faith joy
     ivy pearl ruby skip wade gene guy miles autumn heather hunter drew olive aurore marguerite blanca luz paz rosa wolf
     abril consuelo domingo jordan sky crystal amber ginger iris lily daisy violet"
);

/// What somebody does, after such a name.
pub static DOES: WordSet = words!(
    "is was has had does did said says wrote writes goes went wants wanted likes liked loves hates lives lived works worked
     told tells asks asked can could would should moved moves called calls came comes took takes made makes got gets
     knows knew thinks thought needs plays played bought buys sold eats prefers visited retires sang feels left
     hat ist war wohnt arbeitet mag feiert kommt ging sagt sagte kauft kaufte
     se dice dijo vive trabaja apago compro quiere tiene fue
     n'aime s'est cueille habite aime dit vit travaille"
);

/// A name follows: "a dog named Rex".
pub static INTRODUCES: WordSet = words!(
    "namens heisst genannt named called llamado llamada llama nomme nommee appele appelee surnomme"
);

/// The first word of a German place.
pub static GERMAN_PLACES: WordSet = words!("bad sankt st neu alt gross klein ober unter");
